import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import type { WaitingFor } from '../../engine/model/run.ts'
import { stepTypes } from '../../steps/index.ts'
import { type DefinitionPart, listTriggers, findValues } from '../workflows/stored-definition.ts'

/** A field that has no effect in some context, with the reason. Without `isIneffective` it never has an effect. */
type FieldRule = { at: string; reason: string; isIneffective?: (part: DefinitionPart) => boolean }

const TRIGGER_RULES: Record<string, FieldRule[]> = {
  message_received: [
    {
      at: 'match.values',
      reason: 'match.mode is any: use exact, contains, starts_with or regex',
      isIneffective: (trigger) =>
        firstValue(trigger, 'match.mode') === 'any' && isNonEmptyList(firstValue(trigger, 'match.values')),
    },
  ],
}

const NO_TIMEOUT = 'the step completes immediately: only steps that wait have a timeout'
const OWN_DURATION = 'the step defines its own duration'
const OWN_TARGETS = 'the step defines its own targets'

const REPLY_RULES: FieldRule[] = [
  {
    at: 'expect.min',
    reason: 'it applies to text and number only',
    isIneffective: (step) => !expectsType(step, 'text', 'number'),
  },
  {
    at: 'expect.max',
    reason: 'it applies to text and number only',
    isIneffective: (step) => !expectsType(step, 'text', 'number'),
  },
  {
    at: 'expect.pattern',
    reason: 'a choice is matched against its options',
    isIneffective: (step) => expectsType(step, 'choice'),
  },
]
const TIMEOUT_FIELDS = ['timeout', 'onTimeout']
const RETRY_FIELDS = ['attempts', 'invalidMessage', 'onInvalid']

const STEP_RULES: Record<string, FieldRule[]> = {
  ask: [
    ...REPLY_RULES,
    ...RETRY_FIELDS.map((at) => ({
      at,
      reason: 'any reply is accepted: set expect to validate replies',
      isIneffective: acceptsAnyReply,
    })),
    {
      at: 'message.buttons',
      reason: 'the options of expect are sent as buttons instead',
      isIneffective: differsFromOptions,
    },
  ],
  wait_for_reply: REPLY_RULES,
  wait: TIMEOUT_FIELDS.map((at) => ({ at, reason: OWN_DURATION })),
  handoff: TIMEOUT_FIELDS.map((at) => ({ at, reason: OWN_DURATION })),
  goto: [{ at: 'next', reason: OWN_TARGETS, isIneffective: neverContinues }],
  split: [{ at: 'next', reason: OWN_TARGETS, isIneffective: neverContinues }],
  branch: [{ at: 'next', reason: OWN_TARGETS, isIneffective: (step) => 'else' in step.fields && neverContinues(step) }],
  stop: [
    { at: 'next', reason: 'the run ends here', isIneffective: neverContinues },
    { at: 'saveAs', reason: 'the run ends here' },
  ],
}

const COMMON_STEP_RULES: FieldRule[] = [
  ...TIMEOUT_FIELDS.map((at) => ({
    at,
    reason: NO_TIMEOUT,
    isIneffective: (step: DefinitionPart) => whatAwaits(step) === null,
  })),
  {
    at: 'onTimeout',
    reason: 'the step has no timeout',
    isIneffective: (step) => !['timer', null].includes(whatAwaits(step)) && !('timeout' in step.fields),
  },
]

const ROOT_RULES: FieldRule[] = [
  {
    at: 'settings.debounce',
    reason: 'it applies to message_received triggers, and there is none',
    isIneffective: ({ fields }) =>
      !listTriggers(fields).some((trigger) => trigger.fields['type'] === 'message_received'),
  },
]

/** The parts of a definition that have no errors; `root` is null if it has one. */
export type ValidParts = { root: DefinitionPart | null; triggers: DefinitionPart[]; steps: DefinitionPart[] }

/** Warns of fields of valid parts that have no effect. */
export function checkIneffectiveFields({ root, triggers, steps }: ValidParts): Problem[] {
  return [
    ...(root ? findIneffective(root, ROOT_RULES) : []),
    ...triggers.flatMap((trigger) => findIneffective(trigger, rulesFor(TRIGGER_RULES, trigger))),
    ...steps
      .filter(({ fields }) => fields['disabled'] !== true)
      .flatMap((step) => findIneffective(step, [...COMMON_STEP_RULES, ...rulesFor(STEP_RULES, step)])),
  ]
}

function findIneffective(part: DefinitionPart, fields: FieldRule[]): Problem[] {
  return fields
    .filter(({ at, isIneffective = () => true }) => findValues(part, at).length > 0 && isIneffective(part))
    .map(({ at, reason }) => problemAt(part.location, at, 'ineffective_field', `has no effect: ${reason}`))
}

function rulesFor(table: Record<string, FieldRule[]>, { fields: { type } }: DefinitionPart): FieldRule[] {
  return (typeof type === 'string' && Object.hasOwn(table, type) ? table[type] : undefined) ?? []
}

function firstValue(part: DefinitionPart, path: string): unknown {
  return findValues(part, path)[0]?.value
}

function isNonEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

function whatAwaits({ fields: { type } }: DefinitionPart): WaitingFor | null {
  return stepTypes.get(String(type))?.awaits ?? null
}

function expectsType(step: DefinitionPart, ...types: string[]): boolean {
  return types.includes(String(firstValue(step, 'expect.type') ?? 'any'))
}

function acceptsAnyReply(step: DefinitionPart): boolean {
  return expectsType(step, 'any') && firstValue(step, 'expect.pattern') === undefined
}

/** A run that skips the step, or continues after its failure, uses `next`. */
function neverContinues({ fields }: DefinitionPart): boolean {
  return fields['if'] === undefined && fields['onError'] !== 'continue'
}

function differsFromOptions(step: DefinitionPart): boolean {
  const ids = (path: string) => findValues(step, path).map(({ value }) => value)
  const options = ids('expect.options.*.id')
  return options.length > 0 && ids('message.buttons.*.id').join() !== options.join()
}
