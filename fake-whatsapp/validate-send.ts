import { at, type CloudApiError, invalid, type JsonObject, listAt } from './http.ts'

const CONTACTS_MAX = 257
const LIST_ROWS_MAX = 10

/** Validates a send request as the Cloud API does, as far as the application depends on it. */
export function validateSend(send: JsonObject): CloudApiError | undefined {
  const { messaging_product, to, recipient, biz_opaque_callback_data: callbackData, context, type } = send
  if (messaging_product !== 'whatsapp') return invalid('messaging_product must be whatsapp')
  if ((to === undefined) === (recipient === undefined)) return invalid('either to or recipient is required')
  // The real API guesses the country of a number without a plus, and silently ignores a user ID in `to`.
  if (to !== undefined && !matches(/^\+[1-9]\d{6,14}$/, to)) return invalid('to must be a number with a plus')
  if (recipient !== undefined && !matches(/^[A-Z]{2}\.\w+$/, recipient)) return invalid('recipient must be a user id')
  if (callbackData !== undefined && !hasLength(callbackData, 512)) return invalid('callback data is too long')
  if (context !== undefined && !matches(/^wamid\./, at(context, 'message_id'))) return invalid('context is wrong')
  const validate = typeof type === 'string' ? VALIDATORS.get(type) : undefined
  return validate ? validate(send) : invalid('type is not known')
}

/** Validates a read receipt, which can show that the business is typing. */
export function validateReadReceipt(receipt: JsonObject): CloudApiError | undefined {
  const { messaging_product, status, message_id: messageId, typing_indicator: typing } = receipt
  if (messaging_product !== 'whatsapp') return invalid('messaging_product must be whatsapp')
  if (status !== 'read') return invalid('status must be read')
  if (!matches(/^wamid\./, messageId)) return outOfRange('message_id')
  return typing === undefined || at(typing, 'type') === 'text' ? undefined : outOfRange('typing_indicator.type')
}

const VALIDATORS = new Map<string, (send: JsonObject) => CloudApiError | undefined>([
  ['text', ({ text }) => validateText(text)],
  ...['image', 'video', 'audio', 'document', 'sticker'].map(
    (type) => [type, (send: JsonObject) => validateFile(send, true)] as const,
  ),
  ['location', ({ location }) => validateLocation(location)],
  ['contacts', validateContacts],
  ['interactive', ({ interactive }) => validateInteractive(interactive)],
  ['reaction', ({ reaction }) => validateReaction(reaction)],
  ['template', ({ template }) => validateTemplateName(template)],
])

function validateText(text: unknown): CloudApiError | undefined {
  return hasLength(at(text, 'body'), 4096) ? undefined : invalid('text.body must have 1 to 4096 characters')
}

/** Validates a file as the message itself, or as the header of buttons, which takes neither caption nor audio. */
function validateFile(part: unknown, isMessage: boolean): CloudApiError | undefined {
  const type = at(part, 'type')
  const file = at(part, String(type))
  const [link, id] = [at(file, 'link'), at(file, 'id')]
  if ((link === undefined) === (id === undefined)) return invalid(`${String(type)} needs either link or id`)
  if (link !== undefined && !matches(/^https?:\/\//, link)) return invalid(`${String(type)}.link must be an address`)
  if (id !== undefined && !matches(/^\d+$/, id)) return invalid(`${String(type)}.id must be a media id`)
  const caption = at(file, 'caption')
  if (caption !== undefined && (!isMessage || !CAPTIONED.has(String(type)) || !hasLength(caption, 1024)))
    return outOfRange('caption')
  if (at(file, 'filename') !== undefined && type !== 'document') return outOfRange('filename')
  return isMessage || CAPTIONED.has(String(type)) ? undefined : outOfRange('interactive.header.type')
}

const CAPTIONED = new Set(['image', 'video', 'document'])

function validateLocation(location: unknown): CloudApiError | undefined {
  const isWithin = (field: string, max: number) => Math.abs(Number(at(location, field) ?? Number.NaN)) <= max
  return isWithin('latitude', 90) && isWithin('longitude', 180) ? undefined : outOfRange('location')
}

function validateContacts(send: JsonObject): CloudApiError | undefined {
  const contacts = listAt(send, 'contacts')
  if (contacts.length < 1 || contacts.length > CONTACTS_MAX) return outOfRange('contacts')
  const isNamed = contacts.every((contact) => {
    const name = at(contact, 'name')
    const parts = ['first_name', 'last_name', 'middle_name', 'prefix', 'suffix']
    return hasLength(at(name, 'formatted_name'), 1024) && parts.some((part) => hasLength(at(name, part), 1024))
  })
  return isNamed ? undefined : outOfRange('contacts.name')
}

function validateReaction(reaction: unknown): CloudApiError | undefined {
  if (!matches(/^wamid\./, at(reaction, 'message_id'))) return outOfRange('reaction.message_id')
  return typeof at(reaction, 'emoji') === 'string' ? undefined : outOfRange('reaction.emoji')
}

function validateTemplateName(template: unknown): CloudApiError | undefined {
  if (!matches(/^[a-z0-9_]{1,512}$/, at(template, 'name'))) return outOfRange('template.name')
  return hasLength(at(at(template, 'language'), 'code'), 15) ? undefined : outOfRange('template.language.code')
}

function validateInteractive(interactive: unknown): CloudApiError | undefined {
  const header = at(interactive, 'header')
  const headerError = header === undefined ? undefined : validateHeader(header)
  if (headerError) return headerError
  const type = at(interactive, 'type')
  if (!hasLength(at(at(interactive, 'body'), 'text'), type === 'list' ? 4096 : 1024))
    return outOfRange('interactive.body.text')
  const footer = at(interactive, 'footer')
  if (footer !== undefined && !hasLength(at(footer, 'text'), 60)) return outOfRange('interactive.footer.text')
  const action = at(interactive, 'action')
  if (type === 'button') return validateButtons(action)
  if (type === 'list') return validateList(action)
  return type === 'cta_url' ? validateLink(action) : outOfRange('interactive.type')
}

function validateHeader(header: unknown): CloudApiError | undefined {
  if (at(header, 'type') !== 'text') return validateFile(header, false)
  return hasLength(at(header, 'text'), 60) ? undefined : outOfRange('interactive.header.text')
}

function validateButtons(action: unknown): CloudApiError | undefined {
  const buttons = listAt(action, 'buttons')
  if (buttons.length < 1 || buttons.length > 3) return outOfRange('interactive.action.buttons')
  const replies = buttons.map((button) => at(button, 'reply'))
  if (!replies.every((reply) => hasLength(at(reply, 'id'), 256)))
    return outOfRange('interactive.action.buttons.reply.id')
  const titles = replies.map((reply) => at(reply, 'title'))
  const isValid = titles.every((title) => hasLength(title, 20)) && new Set(titles).size === titles.length
  return isValid ? undefined : outOfRange('interactive.action.buttons.reply.title')
}

function validateList(action: unknown): CloudApiError | undefined {
  if (!hasLength(at(action, 'button'), 20)) return outOfRange('interactive.action.button')
  const sections = listAt(action, 'sections')
  const rows = sections.flatMap((section) => listAt(section, 'rows'))
  if (rows.length < 1 || rows.length > LIST_ROWS_MAX) return outOfRange('interactive.action.sections.rows')
  if (sections.length > 1 && !sections.every((section) => hasLength(at(section, 'title'), 24)))
    return outOfRange('interactive.action.sections.title')
  const isValid = rows.every((row) => {
    const description = at(row, 'description')
    const fits = description === undefined || hasLength(description, 72)
    return fits && hasLength(at(row, 'id'), 200) && hasLength(at(row, 'title'), 24)
  })
  const ids = new Set(rows.map((row) => at(row, 'id')))
  return isValid && ids.size === rows.length ? undefined : outOfRange('interactive.action.sections.rows')
}

function validateLink(action: unknown): CloudApiError | undefined {
  const parameters = at(action, 'parameters')
  if (at(action, 'name') !== 'cta_url') return outOfRange('interactive.action.name')
  if (!hasLength(at(parameters, 'display_text'), 20)) return outOfRange('interactive.action.parameters.display_text')
  return matches(/^https?:\/\//, at(parameters, 'url')) ? undefined : outOfRange('interactive.action.parameters.url')
}

function outOfRange(field: string): CloudApiError {
  return { status: 400, code: 131009, details: `${field} is not valid` }
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function hasLength(value: unknown, max: number): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= max
}
