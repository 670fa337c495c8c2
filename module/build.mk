# SPDX-License-Identifier: Apache-2.0
# Builds the PKCS#11 module. Included by the Makefile of the root directory.

BUILD ?= build
MODULE_SOURCES := $(wildcard module/*.c)
MODULE_DEPENDS := $(MODULE_SOURCES) $(wildcard module/*.h) module/exports_gen.map module/build.mk
MODULE_CFLAGS = -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -pthread -fvisibility=hidden \
	-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-fstack-protector-strong -fstack-clash-protection $(shell pkg-config --cflags p11-kit-1)
# Symbolic: the function list means our functions, also where another PKCS#11
# library comes first in the search order of the linker.
MODULE_LDFLAGS = -shared -Wl,-Bsymbolic -pthread -Wl,--version-script=module/exports_gen.map \
	-Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack

$(BUILD)/oneslot-pkcs11.so: $(MODULE_DEPENDS)
	@mkdir -p $(@D)
	$(CC) $(MODULE_CFLAGS) -D_FORTIFY_SOURCE=2 $(CFLAGS) $(MODULE_SOURCES) \
		$(MODULE_LDFLAGS) -Wl,-z,defs $(LDFLAGS) -o $@

# The same with the checks of the compiler, for tests. Without -z defs, since the
# sanitizers' own symbols come from the application.
$(BUILD)/module-asan.so: $(MODULE_DEPENDS)
	@mkdir -p $(@D)
	$(CC) $(MODULE_CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all \
		$(CFLAGS) $(MODULE_SOURCES) $(MODULE_LDFLAGS) $(LDFLAGS) -o $@
