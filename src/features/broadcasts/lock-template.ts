import { Channel, Template } from '../../models/messaging.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * Locks the template of a broadcast, so that it is not deleted until the transaction ends. The template decides the
 * channel: `channelId`, if set, must be the same.
 * @throws NotFoundError, UnprocessableError `template_of_other_channel`
 */
export async function lockTemplate(tx: Scope, templateId: string, channelId: string | undefined): Promise<Template> {
  const template = await tx.lock(Template, templateId)
  if (channelId === undefined) return template
  const channel = await tx.get(Channel, channelId)
  if (channel.id === template.channelId) return template
  throw new UnprocessableError(
    'template_of_other_channel',
    'The template belongs to another channel. Choose a template of this channel, or leave out channelId',
  )
}
