"""A network of our own: ports 80 and 443 on 127.0.0.0/8 for anybody, and a few 'public' addresses.

A test run moves into a network namespace of its own (as an ordinary user: inside a user namespace
that keeps the uid), so that two runs on one machine never meet, low ports can be bound, and real
public addresses can be answered from the loopback interface without being addresses of this host.
Where the system does not permit that, the run stays in the host's network and the tests that need
more than loopback say so and are skipped.
"""
import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000

# Answered here (routed 'local' to lo) and yet not an address of any interface. Who connects to it comes from
# loopback, so that it looks like an address of somebody else.
PUBLIC4, PUBLIC4_NET = "93.184.216.34", ("93.184.216.0", 24)
PUBLIC6, PUBLIC6_NET = "2606:4700::1111", ("2606:4700::", 32)
# The same without that: local by route alone, as a load balancer's virtual address is.
ANYIP4, ANYIP4_NET = "93.184.218.34", ("93.184.218.0", 24)
# An address of this host that is not loopback.
SELF4 = "93.184.217.9"

_libc = ctypes.CDLL(None, use_errno=True)


class Network:
    """Which network the tests run in, and what can be done there."""

    def __init__(self):
        self.own = False  # a namespace of our own
        self.public = False  # PUBLIC4, PUBLIC6 and SELF4 work
        self.note = "the host's network"

    def low_ports(self):
        """Can ports below 1024 be bound?"""
        with socket.socket() as probe:
            try:
                probe.bind(("127.255.255.253", 443))
                return True
            except PermissionError:
                return False


def enter():
    """Moves this process into its own network, if that can be. Call it before any thread starts."""
    network = Network()
    if os.environ.get("NAMZU_FLOW_NETWORK") == "host":
        network.note = "the host's network (NAMZU_FLOW_NETWORK=host)"
        return network
    try:
        _unshare()
    except OSError as error:
        network.note = f"the host's network ({error})"
        return network
    network.own, network.note = True, "a network namespace of its own"
    _lo_up()
    try:
        _set("ipv4/ip_unprivileged_port_start", "0")
    except OSError:
        pass  # root binds them anyway; for others low_ports() tells
    try:
        _set("ipv6/ip_nonlocal_bind", "1")  # v6 sockets bind routed-local addresses only so
        _netlink(RTM_NEWROUTE, _local_route(socket.AF_INET, *PUBLIC4_NET, source="127.0.0.1"))
        _netlink(RTM_NEWROUTE, _local_route(socket.AF_INET6, *PUBLIC6_NET, source="::1"))
        _netlink(RTM_NEWROUTE, _local_route(socket.AF_INET, *ANYIP4_NET))
        _netlink(RTM_NEWADDR, _address(SELF4))
        network.public = True
    except OSError as error:
        network.note += f" without public addresses ({error})"
    return network


def _set(knob, value):
    with open(f"/proc/sys/net/{knob}", "w") as file:
        file.write(value)


def _unshare():
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        if _libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return
    if _libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _lo_up():
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


RTM_NEWADDR, RTM_NEWROUTE = 20, 24


def _attribute(kind, value):
    return struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _local_route(family, prefix, length, source=None):
    """Packets to the prefix are ours, as `ip route add local PREFIX dev lo [src SOURCE]` says it."""
    RT_TABLE_LOCAL, RTPROT_STATIC, RT_SCOPE_HOST, RTN_LOCAL, RTA_DST, RTA_OIF, RTA_PREFSRC = 255, 4, 254, 2, 1, 4, 7
    scope = RT_SCOPE_HOST if family == socket.AF_INET else 0
    return (struct.pack("BBBBBBBBI", family, length, 0, 0, RT_TABLE_LOCAL, RTPROT_STATIC, scope, RTN_LOCAL, 0)
            + _attribute(RTA_DST, socket.inet_pton(family, prefix))
            + _attribute(RTA_OIF, struct.pack("I", socket.if_nametoindex("lo")))
            + (_attribute(RTA_PREFSRC, socket.inet_pton(family, source)) if source else b""))


def _address(text):
    IFA_ADDRESS, IFA_LOCAL = 1, 2
    packed = socket.inet_aton(text)
    return (struct.pack("BBBBI", socket.AF_INET, 32, 0, 0, socket.if_nametoindex("lo"))
            + _attribute(IFA_LOCAL, packed) + _attribute(IFA_ADDRESS, packed))


def _netlink(kind, body):
    NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 1, 4, 0x400
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.bind((0, 0))
        link.send(struct.pack("IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0) + body)
        answer = link.recv(4096)
        error = -struct.unpack_from("i", answer, 16)[0]
        if error not in (0, 17):  # EEXIST is fine
            raise OSError(error, os.strerror(error))


def free_port(address="127.0.0.1"):
    """A TCP port that nobody holds at the moment."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
