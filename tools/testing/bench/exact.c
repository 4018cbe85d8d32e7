// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A plugin of QEMU that counts how often a guest executes each instruction of its kernel.
 *
 *	-plugin exact.so,out=DIRECTORY
 *
 * When a program in the guest executes MARK, what was counted since the last time goes to a file
 * in the directory, 1, 2 and so on, and counting begins anew. Its lines are "ADDRESS TIMES", both in
 * hexadecimal. Address 0 is all that programs executed. 'mark' is such a program.
 *
 * A string instruction counts for each step, as it does in the guest's clock with -icount.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this uses of version 1 of the interface. Debian packages no header for it. */
#define INTERFACE 1
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { ADD_U64, NO_REGISTERS = 0 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t at);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(
	plugin_id id, void (*done)(plugin_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						int operation, void *to,
						uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(
	struct qemu_plugin_insn *insn,
	void (*done)(unsigned int cpu, void *data), int flags, void *data);

int qemu_plugin_version = INTERFACE;
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

/* nopl 0x52435052(%rax): does nothing, and nobody else writes it so. */
static const uint8_t mark[] = { 0x0f, 0x1f, 0x80, 'R', 'P', 'C', 'R' };

/* Addresses from here on are the kernel's and its modules'. */
#define KERNEL 0xffffffff80000000
#define PAGE 4096
#define PAGES ((1ULL << 31) / PAGE)

static uint64_t *counts[PAGES]; /* of a page's instructions, once there is one */
static uint64_t programs;
static const char *directory;

static void marked(unsigned int cpu, void *data)
{
	static unsigned int number;
	char name[4096];
	FILE *to;

	(void)cpu;
	(void)data;
	snprintf(name, sizeof(name), "%s/%u", directory, ++number);
	to = fopen(name, "w");
	if (!to) {
		perror(name);
		abort();
	}
	fprintf(to, "0 %llx\n", (unsigned long long)programs);
	programs = 0;
	for (uint64_t page = 0; page < PAGES; page++) {
		if (!counts[page])
			continue;
		for (uint64_t at = 0; at < PAGE; at++) {
			uint64_t *count = &counts[page][at];

			if (*count)
				fprintf(to, "%llx %llx\n",
					(unsigned long long)(KERNEL + page * PAGE + at),
					(unsigned long long)*count);
			*count = 0;
		}
	}
	if (fclose(to)) {
		perror(name);
		abort();
	}
}

static uint64_t *count_of(uint64_t address)
{
	const uint64_t page = (address - KERNEL) / PAGE;

	if (address < KERNEL)
		return &programs;
	if (!counts[page])
		counts[page] = calloc(PAGE, sizeof(*counts[page]));
	if (!counts[page])
		abort();
	return &counts[page][address % PAGE];
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t at = 0; at < qemu_plugin_tb_n_insns(tb); at++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, at);

		qemu_plugin_register_vcpu_insn_exec_inline(
			insn, ADD_U64, count_of(qemu_plugin_insn_vaddr(insn)),
			1);
		if (qemu_plugin_insn_size(insn) == sizeof(mark) &&
		    !memcmp(qemu_plugin_insn_data(insn), mark, sizeof(mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, marked, NO_REGISTERS, NULL);
	}
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fputs("exact: say out=DIRECTORY\n", stderr);
		return 1;
	}
	directory = strdup(argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
