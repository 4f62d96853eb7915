/* policy/own.c */
#include "policy/own.h"

#include "policy/ip_screen.h"

bool gw_own_is_loopback(const struct gw_ip_address *address)
{
    return gw_ip_screen(address) == GW_KIND_LOOPBACK;
}

static bool is_unspecified(const struct gw_ip_address *address)
{
    static const unsigned char zeros[16] = { 0 };
    return memcmp(address->bytes, zeros, sizeof zeros) == 0;
}

static bool is_local(const struct gw_own *own, const struct gw_ip_address *address)
{
    for (size_t i = 0; i < own->address_count; i++) {
        struct gw_ip_address local = gw_ip_address_unmap(&own->addresses[i]);
        if (gw_ip_address_equal(&local, address))
            return true;
    }
    return false;
}

bool gw_own_is_listener(const struct gw_own *own, const struct gw_ip_address *address,
                        uint16_t port)
{
    struct gw_ip_address target = gw_ip_address_unmap(address);
    bool anywhere = gw_own_is_loopback(&target) || is_unspecified(&target);
    for (size_t i = 0; own != NULL && i < own->listener_count; i++) {
        const struct gw_own_listener *listener = &own->listeners[i];
        if (listener->port != port)
            continue;
        struct gw_ip_address bound = gw_ip_address_unmap(&listener->address);
        if (anywhere || gw_ip_address_equal(&bound, &target)
            || (listener->wildcard && is_local(own, &target)))
            return true;
    }
    return false;
}

bool gw_own_has_address(const struct gw_own *own, const struct gw_ip_address *address)
{
    struct gw_ip_address target = gw_ip_address_unmap(address);
    return own != NULL && !gw_own_is_loopback(&target) && is_local(own, &target);
}
