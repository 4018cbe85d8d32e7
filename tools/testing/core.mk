# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# For programs in user space that have the protocol core in them: how it, and what
# is in their directory, is compiled to BUILD. FLAGS is what a program wants besides.

CXX		?= g++
CORE		:= ../../../net/sunrpc/rpcrdma/core
INCLUDE		:= ../../../include
BUILD		?= build

CXXFLAGS	:= -std=c++20 -g -Wall -Wextra -Werror -MMD -MP \
		   -I$(INCLUDE) -I$(CORE) $(FLAGS)
# What the core is built with everywhere, so that no test relies on more.
COREFLAGS	:= -ffreestanding -fno-exceptions -fno-rtti \
		   -fno-threadsafe-statics -nostdinc++
CORE_OBJS	:= $(patsubst $(CORE)/%.cpp,$(BUILD)/core/%.o,$(wildcard $(CORE)/*.cpp))

$(BUILD)/core/%.o: $(CORE)/%.cpp Makefile ../core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CXX) $(CXXFLAGS) $(COREFLAGS) -c -o $@ $<

$(BUILD)/%.o: %.cpp Makefile ../core.mk
	@mkdir -p $(@D)
	@echo '  CXX   $@'
	@$(CXX) $(CXXFLAGS) -c -o $@ $<
