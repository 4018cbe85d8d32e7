# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# For programs in user space that contain the protocol core: how to compile the core and
# the sources of their own directory to BUILD. FLAGS are further flags of a program, OWNFLAGS those
# of its own sources alone. TOP is the top of the tree, as seen from its directory.

TOP		?= ../../..
CXX		?= g++
# A compiler's work is kept beside the guests' kernels, where the next clone finds it.
# Without ccache everything is just compiled.
CCACHE		:= $(shell command -v ccache)
export CCACHE_DIR	?= $(or $(RPCRDMA_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rpcrdma)/ccache
export CCACHE_BASEDIR	?= $(abspath $(TOP))
export CCACHE_NOHASHDIR	?= 1
export CCACHE_MAXSIZE	?= 5G
# Of tests that do the same each time: what they printed when the same program last passed.
ONCE		:= $(TOP)/scripts/once
CORE		:= $(TOP)/net/sunrpc/rpcrdma/core
INCLUDE		:= $(TOP)/include
BUILD		?= build

# Lines for whoever reads a stack trace; to write down all variables takes as long as all else.
CXXFLAGS	:= -std=c++20 -g1 -Wall -Wextra -Werror -MMD -MP \
		   -I$(INCLUDE) -I$(CORE) $(FLAGS)
# What the core is built with everywhere, so that no test relies on more.
COREFLAGS	:= -ffreestanding -fno-exceptions -fno-rtti \
		   -fno-threadsafe-statics -nostdinc++
CORE_OBJS	:= $(patsubst $(CORE)/%.cpp,$(BUILD)/core/%.o,$(wildcard $(CORE)/*.cpp))
# What reads and writes headers, without sessions.
WIRE_OBJS	:= $(filter-out $(patsubst %,$(BUILD)/core/%.o,abi auth hkdf hostauth receive \
		   send session xcharext rtrext),$(CORE_OBJS))
# The cryptography that sessions ask of their host, by OpenSSL: HOST_LIBS.
HOST_OBJS	:= $(BUILD)/crypto.o
HOST_LIBS	:= -lcrypto

$(BUILD)/core/%.o: $(CORE)/%.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) $(COREFLAGS) -c -o $@ $<

$(BUILD)/%.o: ../extension/%.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) -c -o $@ $<

$(BUILD)/%.o: $(TOP)/tools/testing/hostauth/%.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) -c -o $@ $<

# The core once more, with the list of extensions that tests have (../extension), and what
# has to know of that.
EXTENDED	:= -I../extension -include ../extension/extensions.h
EXTENDED_OBJS	:= $(CORE_OBJS:$(BUILD)/core/%=$(BUILD)/extended/core/%)

$(BUILD)/extended/core/%.o: $(CORE)/%.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) $(EXTENDED) $(COREFLAGS) -c -o $@ $<

$(BUILD)/extended/%.o: %.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) $(EXTENDED) $(OWNFLAGS) -c -o $@ $<

$(BUILD)/extended/%.o: ../extension/%.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) $(EXTENDED) -c -o $@ $<

$(BUILD)/%.o: %.cpp Makefile $(TOP)/tools/testing/core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CCACHE) $(CXX) $(CXXFLAGS) $(OWNFLAGS) -c -o $@ $<
