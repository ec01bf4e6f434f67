import type { Area } from '../mutant.ts'
import { AUTH } from './auth.ts'
import { BROADCASTS } from './broadcasts.ts'
import { ENGINE } from './engine.ts'
import { FAILURES } from './failures.ts'
import { INBOUND } from './inbound.ts'
import { LISTS } from './lists.ts'
import { MESSAGES } from './messages.ts'
import { OUTBOUND } from './outbound.ts'
import { PLATFORM } from './platform.ts'
import { QUOTAS } from './quotas.ts'
import { RATE_LIMITS } from './rate-limits.ts'
import { RETENTION } from './retention.ts'
import { RUNS } from './runs.ts'
import { TRPC } from './trpc.ts'

export const AREAS: Area[] = [
  ENGINE,
  FAILURES,
  INBOUND,
  OUTBOUND,
  BROADCASTS,
  MESSAGES,
  RUNS,
  AUTH,
  PLATFORM,
  RATE_LIMITS,
  TRPC,
  LISTS,
  RETENTION,
  QUOTAS,
]
