# NamzuTargets.cmake - how every target of ours is compiled, and what may link what.

include_guard(GLOBAL)
include(CheckPIESupported)
check_pie_supported()

add_library(namzu_flags INTERFACE)
# Empty, so that a file that says so itself is not a redefinition.
target_compile_definitions(namzu_flags INTERFACE "_GNU_SOURCE=")
target_include_directories(namzu_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(namzu_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wswitch-enum
  -Wimplicit-fallthrough -Wnull-dereference -fno-strict-aliasing -fno-common
  -fstack-protector-strong -ffunction-sections -fdata-sections
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(NAMZU_WERROR)
  target_compile_options(namzu_flags INTERFACE -Werror)
endif()
target_link_options(namzu_flags INTERFACE -pie -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now)
if(NAMZU_SANITIZE)
  target_compile_options(namzu_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(namzu_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(namzu_flags INTERFACE GW_SANITIZED=1)
else()
  target_compile_options(namzu_flags INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endif()
if(NAMZU_FUZZ)
  target_compile_options(namzu_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# namzu_library(NAME SOURCES a.c b.c USES lib ...) - a static library of ours.
# USES is the whole list of what its sources may include (tests/layering checks the #includes).
function(namzu_library name)
  cmake_parse_arguments(A "" "" "SOURCES;USES" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PRIVATE namzu_flags PUBLIC ${A_USES})
endfunction()
