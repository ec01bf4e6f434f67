import type { TemplateProvider } from '../../channels/templates/template-provider.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadChannel } from '../channels/load-channel.ts'

/**
 * Returns the client of the templates of a channel's account; null for the sandbox, which has no provider.
 * @throws NotFoundError, UnprocessableError `business_account_missing`
 */
export async function loadTemplateProvider(scope: Scope, channelId: string): Promise<TemplateProvider | null> {
  const { kind, adapter } = await loadChannel(scope, channelId)
  if (kind === 'sandbox' || adapter.templates) return adapter.templates
  throw new UnprocessableError(
    'business_account_missing',
    'The channel does not name its WhatsApp Business Account, to which templates belong. Set wabaId with PATCH /api/channels/{channelId}',
  )
}
