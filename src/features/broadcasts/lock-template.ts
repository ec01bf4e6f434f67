import { Channel } from '../../models/messaging/channel.ts'
import { Template } from '../../models/messaging/template.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'

/**
 * The template a broadcast is to send, kept from being deleted until the transaction ends. It decides the channel:
 * naming another one is refused.
 * @throws NotFoundError, UnprocessableError
 */
export async function lockTemplate(tx: Scope, templateId: string, channelId: string | undefined): Promise<Template> {
  const template = await tx.lock(Template, templateId)
  if (channelId === undefined) return template
  const channel = await tx.get(Channel, channelId)
  if (channel.id === template.channelId) return template
  throw new UnprocessableError(
    'template_of_other_channel',
    'The template belongs to another channel. Name a template of this channel, or leave the channel out',
  )
}
