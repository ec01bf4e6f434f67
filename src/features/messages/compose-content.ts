import { findFile, toPreview } from '../../message-content/content.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { nameDocument } from '../../message-content/stored-file.ts'
import type { Scope } from '../../scope.ts'
import { assertSendable } from '../media/assert-sendable.ts'
import type { NewOutbound } from '../outbound/queue-messages.ts'
import { assertHeaderFile } from '../templates/assert-header-file.ts'
import { fillTemplate, loadSendableTemplate } from '../templates/sendable-template.ts'
import type { MessageInput, TemplateChoice } from './schema.ts'

export type ComposedContent = Pick<NewOutbound, 'body' | 'content' | 'category'>

/**
 * Composes what is stored of a message: its text, its other content, and the category of its template.
 * @throws NotFoundError for an unknown template or file
 * @throws UnprocessableError `template_not_approved`, `template_params_invalid`, `media_not_sendable`
 */
export async function composeContent(tx: Scope, channelId: string, input: MessageInput): Promise<ComposedContent> {
  const { body, template, replyToId: _replyToId, sendAt: _sendAt, ...parts } = input
  if (template) return composeTemplate(tx, channelId, template)
  const file = findFile(parts)
  const stored = file && (await assertSendable(tx, file))
  const { media } = parts
  const content = definedFields({ ...parts, media: media && stored ? nameDocument(media, stored) : media })
  return { body: body ?? toPreview(parts), content: Object.keys(content).length > 0 ? content : null }
}

async function composeTemplate(tx: Scope, channelId: string, choice: TemplateChoice): Promise<ComposedContent> {
  const { templateId, name = '', language = '', params } = choice
  const template = await loadSendableTemplate(
    tx,
    channelId,
    templateId === undefined ? { name, language } : { templateId },
  )
  return fillTemplate(template, await assertHeaderFile(tx, template, params))
}
