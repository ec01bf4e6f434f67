import { z } from 'zod'
import { Condition } from '../../engine/language/definition/condition.ts'
import { target } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'

const Case = z.strictObject({ name: z.string().max(120).optional(), if: Condition, next: target })

/** Goes the way of the first case whose condition holds; without one, that of `else`, or simply on. */
export const branch = defineStep({
  type: 'branch',
  schema: z.strictObject({
    cases: z.array(Case).min(1, 'must have at least 1 entry').max(50),
    else: target.optional(),
  }),
  fallthrough: (config) => (config.else === undefined ? 'always' : 'never'),
  targets(config) {
    const cases = config.cases.map(({ next }, index) => ({ to: next, path: `cases.${index}.next` }))
    return config.else === undefined ? cases : [...cases, { to: config.else, path: 'else' }]
  },
  execute(config, turn) {
    const index = config.cases.findIndex((one) => turn.isMet(one.if))
    const taken = config.cases[index]
    const name = taken ? (taken.name ?? `case ${index + 1}`) : 'else'
    const to = taken?.next ?? config.else
    return { kind: 'next', output: { case: name }, branch: name, ...(to === undefined ? {} : { to }) }
  },
})
