import { isObject, type JsonObject, toObject, toObjects, toText } from '../kit/narrow.ts'

const LENGTH_MAX = 90
const DEPTH_MAX = 4

const OPERATORS: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '≠',
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  exists: 'exists',
  empty: 'is empty',
  is_open: 'is open',
}

/** The name of a kind of step or trigger for people: `Send message`. */
export function toTitle(type: string): string {
  const words = type.replaceAll('_', ' ')
  return words === 'ai' || words === 'http' || words === 'api'
    ? words.toUpperCase()
    : words.charAt(0).toUpperCase() + words.slice(1)
}

/** Puts a text in one line that ends with `…` where it is cut. */
export function cut(text: string, max = LENGTH_MAX): string {
  const line = text.slice(0, max * 4).replaceAll(/\s+/g, ' ')
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

/** A condition as a sentence: `contact.tags has tag vip`. */
export function describeCondition(condition: unknown, depth = 0): string {
  if (!isObject(condition) || depth > DEPTH_MAX) return '…'
  const { all, any, not, left, op, right } = condition
  const join = (list: unknown, word: string) =>
    toObjects(list)
      .slice(0, 10)
      .map((one) => describeCondition(one, depth + 1))
      .join(` ${word} `)
  if (all !== undefined) return cut(join(all, 'and'))
  if (any !== undefined) return cut(join(any, 'or'))
  if (not !== undefined) return cut(`not (${describeCondition(not, depth + 1)})`)
  const name = typeof op === 'string' ? (OPERATORS[op] ?? op.replaceAll('_', ' ')) : '?'
  const isAlone = op === 'exists' || op === 'empty' || op === 'is_open'
  const isNegated = isAlone && right === false
  return cut([isNegated ? 'not' : '', show(left), name, isAlone ? '' : show(right)].filter(Boolean).join(' '))
}

/** A value without the braces of a placeholder. */
function show(value: unknown): string {
  if (typeof value === 'string') return cut(value.replace(/^\{\{\s*(.*?)\s*\}\}$/s, '$1'))
  return value === undefined ? '' : cut(JSON.stringify(value))
}

/** The most telling line of a step: what it says, waits for or decides. */
export function describeStep(step: JsonObject): string {
  const describe = DETAILS[toText(step['type']) ?? '']
  const condition = step['if'] === undefined ? '' : `if ${describeCondition(step['if'])}`
  return cut(
    [step['disabled'] === true ? 'disabled' : '', condition, describe?.(step) ?? ''].filter(Boolean).join(' · '),
  )
}

const listNames = (value: unknown) => (Array.isArray(value) ? value.map(String).slice(0, 20).join(', ') : '')

const describeValues = ({ values }: JsonObject) =>
  Object.entries(toObject(values))
    .slice(0, 10)
    .map(([name, value]) => `${name} = ${show(value)}`)
    .join(', ')

function describeMessage({ message }: JsonObject): string {
  const { body, media, sticker, location, contacts, reaction, template, buttons, list } = toObject(message)
  const options = toObjects(buttons ?? toObject(list)['options']).map(({ title }) => `[${show(title)}]`)
  const kinds: [string, unknown][] = [
    [toText(toObject(media)['type']) ?? 'file', media],
    ['sticker', sticker],
    ['location', location],
    ['contacts', contacts],
    ['reaction', reaction],
    [`template ${show(toObject(template)['name'] ?? toObject(template)['templateId'])}`, template],
  ]
  const kind = kinds.find(([, value]) => value !== undefined)?.[0]
  return [kind, toText(body), ...options].filter(Boolean).join(' ')
}

function describeAssignee(value: unknown): string {
  const { userId, strategy, unassign } = toObject(value)
  return unassign === true ? 'nobody' : show(strategy ?? userId).replaceAll('_', ' ')
}

const DETAILS: Readonly<Record<string, (step: JsonObject) => string>> = {
  send_message: describeMessage,
  ask: describeMessage,
  send_template: ({ template }) => show(toObject(template)['name'] ?? toObject(template)['templateId']),
  wait_for_reply: ({ expect }) => `a reply of the kind ${toText(toObject(expect)['type']) ?? 'any'}`,
  wait: ({ for: length, until, untilTime }) =>
    length !== undefined ? show(length) : `until ${show(until ?? untilTime)}`,
  wait_for_event: ({ event }) => show(event),
  branch: ({ cases }) =>
    toObjects(cases)
      .map((one) => describeCondition(one['if']))
      .join(' · '),
  loop: (step) =>
    step['over'] === undefined ? `while ${describeCondition(step['while'])}` : `over ${show(step['over'])}`,
  split: ({ paths }) => `${toObjects(paths).length} paths by weight`,
  set: describeValues,
  update_contact: describeValues,
  add_tag: ({ tags }) => listNames(tags),
  remove_tag: ({ tags }) => listNames(tags),
  add_to_group: ({ groupId }) => show(groupId),
  remove_from_group: ({ groupId }) => show(groupId),
  set_consent: ({ marketing, service }) =>
    [marketing && `marketing ${show(marketing)}`, service && `service ${show(service)}`]
      .filter(Boolean)
      .join(', ')
      .replaceAll('_', ' '),
  assign: ({ to }) => describeAssignee(to),
  handoff: ({ reason, assign }) => toText(reason) ?? describeAssignee(assign),
  run_workflow: ({ workflowId }) => show(workflowId),
  add_note: ({ body }) => show(body),
  emit: ({ event }) => show(event),
  throttle: ({ max, per }) => `${show(max)} in ${show(per)}`,
  goto: ({ to }) => show(to),
  stop: ({ status, reason }) => [toText(status), toText(reason)].filter(Boolean).join(': '),
  http: ({ method, url }) => `${toText(method) ?? 'GET'} ${show(url)}`,
  tool: ({ tool }) => show(tool),
  ai: ({ instructions }) => show(instructions),
}

/** The most telling line of a trigger. */
export function describeTrigger(trigger: JsonObject): string {
  const { match, tag, event, cron, at, fields, groupId, first } = trigger
  const { mode, values } = toObject(match)
  const texts = Array.isArray(values) ? listNames(values) : ''
  const parts = [
    mode === undefined || mode === 'any' ? '' : `${show(mode).replaceAll('_', ' ')} ${texts}`,
    first === true ? 'first message' : '',
    ...[tag, event, cron, at, groupId].map(show),
    listNames(fields),
    trigger['if'] === undefined ? '' : `if ${describeCondition(trigger['if'])}`,
  ]
  return cut(parts.filter(Boolean).join(' · '))
}
