/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Stand-ins for macros of the kernel, since cppcheck does not see the kernel's
 * headers: those that are loops, attributes, and those whose arguments are no C.
 */
#define list_for_each_entry(pos, head, member)                             \
	for (pos = (void *)(head)->next; &pos->member != (head);           \
	     pos = (void *)pos->member.next)
#define list_for_each_entry_safe(pos, n, head, member)                     \
	for (pos = (void *)(head)->next, n = (void *)pos->member.next;     \
	     &pos->member != (head); pos = n, n = (void *)n->member.next)
#define list_for_each_entry_reverse(pos, head, member)                     \
	for (pos = (void *)(head)->prev; &pos->member != (head);           \
	     pos = (void *)pos->member.prev)
#define llist_for_each_entry_safe(pos, n, node, member)                    \
	for (pos = (void *)(node), n = pos; pos; pos = n)
#define __aligned(octets)
#define __uninitialized
#define TRACE_EVENT(name, ...)
#define DECLARE_EVENT_CLASS(name, ...)
#define DEFINE_EVENT(class, name, ...)
#define TRACE_DEFINE_ENUM(name)
