namzu_unit_test(client_hello
  SOURCES client_hello_test.c
  USES namzu_proxy)
namzu_unit_test(dns_cache
  SOURCES dns_cache_test.c
  USES namzu_proxy)
namzu_unit_test(resolver
  SOURCES resolver_test.c resolver_world.c dns_server.c
  USES namzu_proxy)
namzu_unit_test(resolver_life
  SOURCES resolver_life_test.c resolver_world.c dns_server.c
  USES namzu_proxy)
