import { z } from 'zod'
import { Condition } from '../../engine/language/definition/condition.ts'
import { ident, templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep, type StepOutcome, type StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/get-field.ts'

const schema = z
  .strictObject({
    over: templateText
      .refine((text) => text.includes('{{'), 'must be a placeholder such as {{vars.list}}')
      .meta({ pattern: '\\{\\{' })
      .optional(),
    as: ident.optional(),
    while: Condition.optional(),
    max: z.int('must be a whole number').min(1, 'must be 1 or more').max(1000, 'must be at most 1000'),
    steps: z.array(z.unknown()).min(1, 'must have at least 1 entry'),
  })
  .refine((given) => (given.over === undefined) !== (given.while === undefined), 'must have either over or while')
  .refine((given) => given.as === undefined || given.over !== undefined, {
    message: 'names the entries of a list: it needs over',
    path: ['as'],
  })
  .meta({ oneOf: [{ required: ['over'] }, { required: ['while'] }], dependentRequired: { as: ['over'] } })
type Loop = z.output<typeof schema>

/**
 * Goes through its steps once for each entry of a list, or as long as a condition holds; never more than `max` times.
 * The list is read once, when the loop is entered.
 */
export const loop = defineStep({
  type: 'loop',
  schema,
  hasBody: true,
  assigns: (config) => (config.as === undefined ? [] : [config.as]),
  recall({ as }, output) {
    const item = getField(output, 'item')
    return { saved: output, variables: as !== undefined && item !== undefined ? { [as]: item } : {} }
  },
  execute(config, turn) {
    return config.over === undefined ? goOnWhile(config, turn) : goOver(config.over, config, turn)
  },
})

function goOnWhile({ while: condition, max }: Loop, { round, isMet }: StepContext): StepOutcome {
  const index = round === null ? 0 : round.index + 1
  if (index >= max || (condition && !isMet(condition))) return leave(index)
  return { kind: 'round', index, items: null, output: { index } }
}

function goOver(over: string, { as, max }: Loop, turn: StepContext): StepOutcome {
  const items = turn.round?.items ?? readList(over, turn).slice(0, max)
  const index = turn.round === null ? 0 : turn.round.index + 1
  if (index >= items.length) return leave(index)
  const item = items[index] ?? null
  const variables = as === undefined ? {} : { [as]: item }
  return { kind: 'round', index, items, output: { index, item }, variables }
}

function leave(rounds: number): StepOutcome {
  return { kind: 'next', output: { rounds }, branch: 'done' }
}

function readList(over: string, turn: StepContext): unknown[] {
  const list = turn.resolve(over)
  if (Array.isArray(list)) return list
  if (list === null) return []
  throw new StepError('not_a_list', 'What the loop goes over is no list', { retryable: false })
}
