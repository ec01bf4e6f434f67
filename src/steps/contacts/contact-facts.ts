import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { toText } from '../../engine/language/values.ts'

const TAG_LENGTH_MAX = 50

export const Tags = z.array(templateText).min(1, 'must have at least 1 entry').max(50)

export function requireContact({ facts }: StepContext): JsonObject {
  if (facts.contact) return facts.contact
  throw new StepError('no_contact', 'The run has no contact', { retryable: false })
}

export function requireConversation({ facts }: StepContext): JsonObject {
  if (facts.conversation) return facts.conversation
  throw new StepError('no_conversation', 'The run has no conversation', { retryable: false })
}

export function listGroupIds({ groupIds }: JsonObject): unknown[] {
  return Array.isArray(groupIds) ? groupIds : []
}

export function listTags(contact: JsonObject): string[] {
  const { tags } = contact
  return Array.isArray(tags) ? tags.map(toText) : []
}

/** Fills in the names of tags; a placeholder may stand for a list of names. */
export function fillTags(templates: readonly string[], context: StepContext): string[] {
  const names = templates
    .flatMap((template) => context.resolve(template))
    .map((name) => toText(name).trim())
    .filter((name) => name !== '')
  const tooLong = names.find((name) => name.length > TAG_LENGTH_MAX)
  if (tooLong === undefined) return [...new Map(names.map((name) => [normalizeText(name), name])).values()]
  throw new StepError('invalid_tag', `The tag "${tooLong.slice(0, 60)}" is longer than ${TAG_LENGTH_MAX} characters`, {
    retryable: false,
  })
}
