import { conditionLanguage } from '../engine/language/definition/condition.ts'
import { empty, eq, exists, gt, gte, isIn, lt, lte, ne, notIn } from './comparisons.ts'
import { hasTag, inGroup, isOpen } from './messaging.ts'
import { contains, endsWith, matches, notContains, startsWith } from './texts.ts'

/** Operators of conditions, in the order in which documentation lists them. */
export const conditions = conditionLanguage([
  eq,
  ne,
  gt,
  gte,
  lt,
  lte,
  contains,
  notContains,
  startsWith,
  endsWith,
  matches,
  isIn,
  notIn,
  exists,
  empty,
  hasTag,
  inGroup,
  isOpen,
])

export const Condition = conditions.schema
