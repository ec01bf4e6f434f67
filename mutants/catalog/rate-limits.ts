import type { Area } from '../mutant.ts'

const ATTEMPTS = 'src/platform/rate-limit/attempts.ts'
const LOCKOUT = 'src/platform/rate-limit/lockout.ts'
const TIERS = 'src/platform/rate-limit/rate-limits.ts'

export const RATE_LIMITS: Area = {
  name: 'rate-limits',
  tests: [
    'integration/platform/lockout.test.ts',
    'integration/platform/rate-limit.test.ts',
    'integration/api/limits.test.ts',
    'integration/auth/auth-attacks.test.ts',
  ],
  mutants: [
    {
      name: 'six wrong passwords lock instead of five',
      file: LOCKOUT,
      original: 'const PAIR_MAX = 5',
      mutated: 'const PAIR_MAX = 6',
    },
    {
      name: 'four wrong passwords lock instead of five',
      file: LOCKOUT,
      original: 'const PAIR_MAX = 5',
      mutated: 'const PAIR_MAX = 4',
    },
    {
      name: 'known addresses are slowed down like unknown ones',
      file: LOCKOUT,
      original: 'if (guess.isKnownAddress) return [pair]',
      mutated: '',
    },
    {
      name: 'attempts count beyond the period of the first',
      file: ATTEMPTS,
      original: 'points = case when stored.expire <= :now then 1 else stored.points + 1 end',
      mutated: 'points = stored.points + 1',
    },
    {
      name: 'one attempt more is reserved',
      file: ATTEMPTS,
      original: 'where stored.expire <= :now or stored.points < :max',
      mutated: 'where stored.expire <= :now or stored.points <= :max',
    },
    {
      name: 'each attempt extends the period',
      file: ATTEMPTS,
      original: 'expire = case when stored.expire <= :now then excluded.expire else stored.expire end',
      mutated: 'expire = excluded.expire',
    },
    {
      name: 'the fifth failure does not restart the period',
      file: ATTEMPTS,
      original: `.andWhere('points', '>=', max).update({ expire: ends })`,
      mutated: `.andWhere('points', '>', max).update({ expire: ends })`,
    },
    {
      name: 'a lock ends after ten minutes',
      file: LOCKOUT,
      original: 'const LOCK_MS = 15 * MINUTE',
      mutated: 'const LOCK_MS = 10 * MINUTE',
    },
    {
      name: 'addresses share one lock per account',
      file: LOCKOUT,
      original: '${normalize(email)}\\0${addressKey}',
      mutated: '${normalize(email)}',
    },
    {
      name: 'other spellings of an e-mail have attempts of their own',
      file: LOCKOUT,
      original: 'email.trim().toLowerCase().normalize',
      mutated: 'email.trim().normalize',
    },
    {
      name: 'sign-in allows six requests a minute',
      file: TIERS,
      original: 'signIn: { points: 5, seconds: 60 }',
      mutated: 'signIn: { points: 6, seconds: 60 }',
    },
    {
      name: 'the API allows 101 requests a minute',
      file: TIERS,
      original: 'api: { points: 100, seconds: 60 }',
      mutated: 'api: { points: 101, seconds: 60 }',
    },
    {
      name: 'a batch is charged as one call',
      file: 'src/http/rate-limits.ts',
      original: 'group.points += 1',
      mutated: 'group.points = 1',
    },
    {
      name: 'unknown paths under /api/auth are charged to the general tier only',
      file: 'src/http/rate-limits.ts',
      original: `?? 'auth')]`,
      mutated: '?? undefined)]',
    },
    {
      name: 'an unreachable store lifts the limit',
      file: 'src/platform/rate-limit/limiter.ts',
      original: 'new RateLimiterMemory(toOptions(rule))',
      mutated: 'new RateLimiterMemory({ ...toOptions(rule), points: 1_000_000 })',
      tests: ['integration/platform/rate-limit.test.ts', 'integration/platform/redis-away.test.ts'],
    },
    {
      name: 'a process starts with empty counters',
      file: 'src/platform/rate-limit/rate-limits.ts',
      original: 'await Promise.all(buffered.map((limiter) => limiter.load()))',
      mutated: '',
    },
  ],
}
