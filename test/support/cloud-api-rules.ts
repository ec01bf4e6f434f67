/** An error of the Cloud API, as in its error envelope. */
export type CloudApiError = { status: number; code: number; details: string }
export type CloudApiSend = Record<string, unknown>

/** Validates a send request as the Cloud API does, as far as the application depends on it. */
export function validateSend(send: CloudApiSend): CloudApiError | undefined {
  const { messaging_product, to, recipient, biz_opaque_callback_data: callbackData, context } = send
  if (messaging_product !== 'whatsapp') return invalid('messaging_product must be whatsapp')
  if ((to === undefined) === (recipient === undefined)) return invalid('either to or recipient is required')
  // The real API guesses the country of a number without a plus, and silently ignores a user ID in `to`.
  if (to !== undefined && !matches(/^\+[1-9]\d{6,14}$/, to)) return invalid('to must be a number with a plus')
  if (recipient !== undefined && !matches(/^[A-Z]{2}\.\w+$/, recipient)) return invalid('recipient must be a user id')
  if (callbackData !== undefined && !hasLength(callbackData, 512)) return invalid('callback data is too long')
  if (context !== undefined && !matches(/^wamid\./, at(context, 'message_id'))) return invalid('context is wrong')
  if (send['type'] === 'text') return validateText(send['text'])
  if (send['type'] === 'interactive') return validateButtons(send['interactive'])
  return typeof send['type'] === 'string' && FILES.has(send['type'])
    ? validateFile(send, true)
    : invalid('type is not known')
}

const FILES = new Set(['image', 'video', 'audio', 'document'])

/** Validates a file as the message itself, or as the header of buttons, which takes neither caption nor audio. */
function validateFile(part: unknown, isMessage: boolean): CloudApiError | undefined {
  const type = at(part, 'type')
  const file = at(part, String(type))
  if (!matches(/^https?:\/\//, at(file, 'link'))) return invalid(`${String(type)}.link must be an address`)
  const caption = at(file, 'caption')
  if (caption !== undefined && (!isMessage || type === 'audio' || !hasLength(caption, 1024)))
    return outOfRange('caption')
  if (at(file, 'filename') !== undefined && type !== 'document') return outOfRange('filename')
  return isMessage || type !== 'audio' ? undefined : outOfRange('interactive.header.type')
}

function validateText(text: unknown): CloudApiError | undefined {
  return hasLength(at(text, 'body'), 4096) ? undefined : invalid('text.body must have 1 to 4096 characters')
}

function validateButtons(interactive: unknown): CloudApiError | undefined {
  if (at(interactive, 'type') !== 'button') return outOfRange('interactive.type')
  const header = at(interactive, 'header')
  const headerError = header === undefined ? undefined : validateFile(header, false)
  if (headerError) return headerError
  if (!hasLength(at(at(interactive, 'body'), 'text'), 1024)) return outOfRange('interactive.body.text')
  const buttons = at(at(interactive, 'action'), 'buttons')
  if (!Array.isArray(buttons) || buttons.length < 1 || buttons.length > 3)
    return outOfRange('interactive.action.buttons')
  const titles = buttons.map((button) => at(at(button, 'reply'), 'title'))
  const isValid = titles.every((title) => hasLength(title, 20)) && new Set(titles).size === titles.length
  return isValid ? undefined : outOfRange('interactive.action.buttons.reply.title')
}

function invalid(details: string): CloudApiError {
  return { status: 400, code: 100, details }
}

function outOfRange(field: string): CloudApiError {
  return { status: 400, code: 131009, details: `${field} is not valid` }
}

function at(part: unknown, field: string): unknown {
  return typeof part === 'object' && part !== null ? Reflect.get(part, field) : undefined
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function hasLength(value: unknown, max: number): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= max
}
