/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Warnings for the module on a kernel without CONFIG_BUG, where WARN_ON() and what is made of it,
 * such as lockdep_assert_held(), only evaluates its condition. The compiler reads this before the
 * module's files.
 */
#ifndef NPUPROF_WARN_H
#define NPUPROF_WARN_H

#if defined(CONFIG_BUG) || defined(__ASSEMBLY__)
#error "only for kernels that keep silent"
#endif

#include <linux/bug.h>
#include <linux/printk.h>

#undef WARN_ON
#define WARN_ON(condition) ({							\
	int __warn = !!(condition);						\
										\
	if (unlikely(__warn)) {							\
		pr_err("WARNING: at %s:%d %s()\n", __FILE__, __LINE__, __func__); \
		dump_stack();							\
	}									\
	unlikely(__warn);							\
})
#undef WARN
#define WARN(condition, format...) ({						\
	int __warn_said = WARN_ON(condition);					\
										\
	if (unlikely(__warn_said))						\
		pr_err(format);							\
	unlikely(__warn_said);							\
})
#undef WARN_ON_ONCE
#define WARN_ON_ONCE(condition)		WARN_ON(condition)
#undef WARN_ONCE
#define WARN_ONCE(condition, format...)	WARN(condition, format)

#endif /* NPUPROF_WARN_H */
