// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Device clock, core clock, and conversions between them and host time. */
#include "internal.h"

static u64 gcd(u64 a, u64 b)
{
	while (b) {
		u64 r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static struct ratio reduce(u64 num, u64 den)
{
	u64 d = gcd(num, den);

	return (struct ratio){ .num = num / d, .den = den / d };
}

void clock_setup(struct npusim_model *m)
{
	const struct npusim_model_config *c = &m->cfg;
	struct ratio hz = reduce(c->clock_hz, 1000000000ull);
	struct ratio drift = reduce((u64)(1000000 + (s64)c->clock_ppm), 1000000);

	/* hz <= 10^10 and the factors are small, so the products stay below 2^64. */
	m->tick = reduce(hz.num * drift.num, hz.den * drift.den);
	m->mono = reduce(1000000000ull, c->clock_hz);
	m->cycle_ns = reduce(1000ull * c->time_scale_ppm, (u64)c->core_mhz * 1000000);
}

u64 clock_at(const struct npusim_model *m, u64 ns)
{
	/* A clock that is set to start in the future stands still until then. */
	__int128 elapsed = (__int128)ns - m->origin + m->cfg.clock_offset_ns;

	if (elapsed < 0)
		elapsed = 0;
	return m->cfg.clock_start + mul_div((u64)elapsed, m->tick.num, m->tick.den);
}

u64 mono_at(const struct npusim_model *m, u64 ns)
{
	return mul_div(clock_at(m, ns), m->mono.num, m->mono.den);
}

u64 cycles_to_ns(const struct npusim_model *m, u64 cycles)
{
	return mul_div_up(cycles, m->cycle_ns.num, m->cycle_ns.den);
}

u64 ns_to_cycles(const struct npusim_model *m, u64 ns)
{
	return mul_div(ns, m->cycle_ns.den, m->cycle_ns.num);
}

u64 scaled_ns(const struct npusim_model *m, u64 ns)
{
	return mul_div_up(ns, m->cfg.time_scale_ppm, 1000000);
}

u64 sample_time(const struct npusim_model *m, u64 base, u64 period, u64 k)
{
	return base + (u64)((u128)period * k * 1000000 / (u64)(1000000 + (s64)m->cfg.clock_ppm));
}
