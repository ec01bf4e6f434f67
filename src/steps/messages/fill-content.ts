import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { ContentParts, findFile } from '../../message-content/content.ts'
import { findSendable } from './media.ts'
import type { Message } from './message.ts'

type Parts = Pick<Message, 'sticker' | 'location' | 'contacts' | 'reaction' | 'list' | 'link'>

/**
 * Fills in the placeholders of a message's content. Optional texts that become empty are left out.
 * @throws StepError `invalid_content` if the result exceeds a limit of channels; `unknown_media`, `media_not_sendable`
 */
export function fillContent({ location, ...texts }: Parts, context: StepContext): ContentParts {
  const parts = {
    ...fillTexts(texts, context),
    ...(location ? { location: fillLocation(location, context) } : {}),
  }
  const result = ContentParts.safeParse(parts)
  if (result.success) {
    const file = findFile(result.data)
    if (file) findSendable(file, context)
    return result.data
  }
  const [issue] = result.error.issues
  throw new StepError('invalid_content', `message.${issue?.path.join('.')} ${issue?.message}`, { retryable: false })
}

function fillTexts<Fields extends object>(fields: Fields, context: StepContext): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]): [string, unknown] => [name, fillValue(value, context)])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== ''))
}

function fillValue(value: unknown, context: StepContext): unknown {
  if (typeof value === 'string') return context.text(value).trim()
  if (Array.isArray(value)) return value.map((entry) => fillValue(entry, context))
  return typeof value === 'object' && value !== null ? fillTexts(value, context) : value
}

function fillLocation({ latitude, longitude, ...texts }: NonNullable<Parts['location']>, context: StepContext): object {
  return {
    ...fillTexts(texts, context),
    latitude: fillDegrees(latitude, context),
    longitude: fillDegrees(longitude, context),
  }
}

/** Converts a text to the number that it contains; any other text stays as it is and is refused. */
function fillDegrees(value: number | string, context: StepContext): unknown {
  const filled = context.resolve(value)
  return typeof filled === 'string' && filled.trim() !== '' ? Number(filled) : filled
}
