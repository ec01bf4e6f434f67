import { z } from 'zod'
import { Condition } from '../../conditions/index.ts'
import { target } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'

const Case = z.strictObject({ name: z.string().max(120).optional(), if: Condition, next: target })

/** Continues with the first case whose condition is met; without one with `else`, or else with the following step. */
export const branch = defineStep({
  type: 'branch',
  schema: z.strictObject({
    cases: z.array(Case).min(1, 'must have at least 1 entry').max(50),
    else: target.optional(),
  }),
  output: () => ({ case: null }),
  fallthrough: (config) => (config.else === undefined ? 'always' : 'never'),
  targets(config) {
    const cases = config.cases.map(({ next }, index) => ({ to: next, path: `cases.${index}.next` }))
    return config.else === undefined ? cases : [...cases, { to: config.else, path: 'else' }]
  },
  execute(config, context) {
    const index = config.cases.findIndex((one) => context.isMet(one.if))
    const match = config.cases[index]
    const name = match ? (match.name ?? `case ${index + 1}`) : 'else'
    const to = match?.next ?? config.else
    return { kind: 'next', output: { case: name }, branch: name, ...(to === undefined ? {} : { to }) }
  },
})
