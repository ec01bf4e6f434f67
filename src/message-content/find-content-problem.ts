import type { ListOption } from './content.ts'
import { BUTTON_TITLE_MAX, BUTTONS_MAX, CAPTION_MAX, LIST_TITLE_MAX } from './limits.ts'

/** Kinds of content in the order in which they decide the kind of the message, with those that may accompany them. */
const COMPANIONS = {
  template: [],
  reaction: [],
  sticker: [],
  location: [],
  contacts: [],
  list: ['body'],
  buttons: ['body', 'media'],
  link: ['body', 'media'],
  media: ['body'],
  body: [],
} as const satisfies Record<string, readonly string[]>
type Kind = keyof typeof COMPANIONS
const KINDS = Object.keys(COMPANIONS).filter((name): name is Kind => name in COMPANIONS)

/** Kinds that are shown together with a text, which is then required. */
const NEEDS_BODY: ReadonlySet<Kind> = new Set(['list', 'buttons', 'link'])

/** JSON Schema of the allowed combinations of kinds. */
export const KINDS_SCHEMA = {
  anyOf: KINDS.map((kind) => {
    const companions: readonly string[] = COMPANIONS[kind]
    const others = KINDS.filter((name) => name !== kind && !companions.includes(name))
    return {
      required: NEEDS_BODY.has(kind) ? [kind, 'body'] : [kind],
      properties: Object.fromEntries(others.map((name) => [name, false])),
    }
  }),
}

type Parts = { [Each in Exclude<Kind, 'body' | 'media' | 'buttons' | 'list'>]?: unknown } & {
  body?: string | undefined
  media?: { type: string } | undefined
  buttons?: readonly ListOption[] | undefined
  list?: { options: readonly ListOption[] } | undefined
  replyToId?: unknown
}

export type ContentProblem = { path: (string | number)[]; message: string; code?: string }

/**
 * Finds what makes the parts no message that a channel can send: there must be exactly one kind, and some kinds limit the
 * others. Texts with placeholders are exempt from limits of length, which apply once they are filled in.
 */
export function findContentProblem(parts: Parts): ContentProblem | undefined {
  const present = KINDS.filter((kind) => parts[kind] !== undefined)
  const [kind] = present
  if (!kind) return { path: ['body'], message: 'is required in a message without other content' }
  const companions: readonly string[] = COMPANIONS[kind]
  const other = present.find((name) => name !== kind && !companions.includes(name))
  if (other) return { path: [other], message: `is not allowed with ${kind}: send it in a message of its own` }
  if (kind === 'reaction' && parts.replyToId !== undefined) {
    return { path: ['replyToId'], message: 'is not allowed with a reaction, which names its message itself' }
  }
  return findTextProblem(kind, parts) ?? findOptionsProblem(parts)
}

function findTextProblem(kind: Kind, { body, media }: Parts): ContentProblem | undefined {
  const needsText = NEEDS_BODY.has(kind)
  if (needsText && body === undefined) return { path: ['body'], message: `is required with ${kind}` }
  if (media?.type === 'audio' && needsText) return { path: ['media'], message: `must not be audio with ${kind}` }
  if (media?.type === 'audio' && body !== undefined) {
    return { path: ['body'], message: 'is not allowed with audio: send it in a message of its own' }
  }
  const owner = media ? 'media' : kind === 'link' ? 'link' : undefined
  if (!owner || body === undefined || fits(body, CAPTION_MAX)) return undefined
  return {
    path: ['body'],
    message: `must have at most ${CAPTION_MAX} characters with ${owner}`,
    code: 'message_too_long',
  }
}

function findOptionsProblem({ media, buttons, list }: Parts): ContentProblem | undefined {
  if (list) return findRepetition(list.options, ['list', 'options'])
  if (!buttons) return undefined
  if (media && buttons.length > BUTTONS_MAX) {
    const message = `must have at most ${BUTTONS_MAX} entries with media`
    return { path: ['buttons'], message, code: 'too_many_buttons' }
  }
  const isList = buttons.length > BUTTONS_MAX
  const max = isList ? LIST_TITLE_MAX : BUTTON_TITLE_MAX
  const long = buttons.findIndex(({ title }) => !fits(title, max))
  if (long === -1) return findRepetition(buttons, ['buttons'])
  const message = `must have at most ${max} characters${isList ? '' : ` with up to ${BUTTONS_MAX} buttons`}`
  return { path: ['buttons', long, 'title'], message, code: 'title_too_long' }
}

function findRepetition(options: readonly ListOption[], path: string[]): ContentProblem | undefined {
  if (isRepeating(options.map(({ id }) => id))) return { path, message: 'must not repeat an id' }
  const titles = options.map(({ title }) => title).filter((title) => !title.includes('{{'))
  return isRepeating(titles) ? { path, message: 'must not repeat a title' } : undefined
}

function isRepeating(texts: string[]): boolean {
  return new Set(texts).size < texts.length
}

function fits(text: string, max: number): boolean {
  return text.length <= max || text.includes('{{')
}
