import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { type RawPart, listSteps, listTriggers, valuesAt, asDocument } from '../workflows/stored-definition.ts'

/** A field that changes nothing where it stands, and why. */
type Idle = { at: string; why: string; isIdle?: (part: RawPart) => boolean }

const OF_TRIGGERS: Record<string, Idle[]> = {
  message_received: [
    {
      at: 'match.values',
      why: 'match.mode is any: use exact, contains, starts_with or regex',
      isIdle: (trigger) => valueAt(trigger, 'match.mode') === 'any' && isFilled(valueAt(trigger, 'match.values')),
    },
  ],
}

const NOTHING_TO_TIME = 'the step is over at once: only steps that wait for an answer have a timeout'
const OWN_TIME = 'the step says itself how long it waits'
const OWN_WAY = 'the step says itself where to go on'

const OF_REPLIES: Idle[] = [
  { at: 'expect.min', why: 'it is for text and number', isIdle: (step) => !isExpected(step, 'text', 'number') },
  { at: 'expect.max', why: 'it is for text and number', isIdle: (step) => !isExpected(step, 'text', 'number') },
  { at: 'expect.pattern', why: 'a choice is one of its options', isIdle: (step) => isExpected(step, 'choice') },
]
const UNTIMED = ['timeout', 'onTimeout']
const TO_REPEAT = ['attempts', 'invalidMessage', 'onInvalid']

const OF_STEPS: Record<string, Idle[]> = {
  ask: [
    ...OF_REPLIES,
    ...TO_REPEAT.map((at) => ({ at, why: 'any reply is taken: say in expect which', isIdle: takesAnything })),
    { at: 'message.buttons', why: 'the options of expect are shown instead', isIdle: hasOtherOptions },
  ],
  wait_for_reply: OF_REPLIES,
  wait: UNTIMED.map((at) => ({ at, why: OWN_TIME })),
  handoff: UNTIMED.map((at) => ({ at, why: OWN_TIME })),
  goto: [{ at: 'next', why: OWN_WAY, isIdle: isAlwaysTaken }],
  split: [{ at: 'next', why: OWN_WAY, isIdle: isAlwaysTaken }],
  branch: [{ at: 'next', why: OWN_WAY, isIdle: (step) => 'else' in step.fields && isAlwaysTaken(step) }],
  stop: [
    { at: 'next', why: 'the run ends here', isIdle: isAlwaysTaken },
    { at: 'saveAs', why: 'the run ends here' },
  ],
}

/** Steps that are given something later: by the customer, an event, or the outside. */
const TIMED: ReadonlySet<unknown> = new Set(
  'ask wait_for_reply wait_for_event http tool ai run_workflow wait handoff'.split(' '),
)
const OF_ALL_STEPS: Idle[] = [
  ...UNTIMED.map((at) => ({ at, why: NOTHING_TO_TIME, isIdle: ({ fields }: RawPart) => !TIMED.has(fields['type']) })),
  {
    at: 'onTimeout',
    why: 'the step has no timeout',
    isIdle: ({ fields }) => TIMED.has(fields['type']) && !('timeout' in fields) && !isSelfTimed(fields['type']),
  },
]

const OF_THE_WHOLE: Idle[] = [
  {
    at: 'settings.debounce',
    why: 'it is for message_received triggers, and there is none',
    isIdle: ({ fields }) => !listTriggers(fields).some((trigger) => trigger.fields['type'] === 'message_received'),
  },
]

/** Warns of everything that a sound definition says in vain. */
export function checkIneffectiveFields(definition: unknown): Problem[] {
  return [
    ...idleIn(asDocument(definition), OF_THE_WHOLE),
    ...listTriggers(definition).flatMap((trigger) => idleIn(trigger, listOf(OF_TRIGGERS, trigger))),
    ...listSteps(definition)
      .filter(({ fields }) => fields['disabled'] !== true)
      .flatMap((step) => idleIn(step, [...OF_ALL_STEPS, ...listOf(OF_STEPS, step)])),
  ]
}

function idleIn(part: RawPart, fields: Idle[]): Problem[] {
  return fields
    .filter(({ at, isIdle = () => true }) => valuesAt(part, at).length > 0 && isIdle(part))
    .map(({ at, why }) => problemAt(part.place, at, 'ineffective_field', `has no effect: ${why}`))
}

function listOf(table: Record<string, Idle[]>, { fields: { type } }: RawPart): Idle[] {
  return (typeof type === 'string' && Object.hasOwn(table, type) ? table[type] : undefined) ?? []
}

function valueAt(part: RawPart, path: string): unknown {
  return valuesAt(part, path)[0]?.value
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

function isSelfTimed(type: unknown): boolean {
  return type === 'wait' || type === 'handoff'
}

function isExpected(step: RawPart, ...types: string[]): boolean {
  return types.includes(String(valueAt(step, 'expect.type') ?? 'any'))
}

function takesAnything(step: RawPart): boolean {
  return isExpected(step, 'any') && valueAt(step, 'expect.pattern') === undefined
}

/** Who passes the step over, or goes on after it failed, goes where `next` says. */
function isAlwaysTaken({ fields }: RawPart): boolean {
  return fields['if'] === undefined && fields['onError'] !== 'continue'
}

function hasOtherOptions(step: RawPart): boolean {
  const ids = (path: string) => valuesAt(step, path).map(({ value }) => value)
  const options = ids('expect.options.*.id')
  return options.length > 0 && ids('message.buttons.*.id').join() !== options.join()
}
