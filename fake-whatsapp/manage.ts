import { type Call, type Reply, UNKNOWN_OBJECT, UNKNOWN_PATH } from './http.ts'
import type { FakeMedia } from './media.ts'
import type { FakeTemplates } from './templates.ts'
import { DISPLAY_NUMBER } from './webhooks.ts'

type BusinessAccount = {
  phoneNumberId: string
  wabaId: string
  url: string
  templates: FakeTemplates
  media: FakeMedia
}

/** Answers a call other than a send: about templates, media or the number itself. */
export async function answerManagementCall(account: BusinessAccount, call: Call): Promise<Reply> {
  const { method, path } = call
  const { templates, media, phoneNumberId, wabaId, url } = account
  const [id = '', edge] = path
  if (edge === undefined) return answerObjectCall(account, id, call)
  if (id === 'attachments') return media.download(edge)
  if (edge === 'uploads' && method === 'POST') return media.startSample(call)
  if (id === phoneNumberId && edge === 'media' && method === 'POST') return media.upload(call)
  if (id === wabaId && edge === 'message_templates') {
    if (method === 'POST') return templates.create(call)
    return method === 'DELETE' ? templates.delete(call) : templates.list(call, `${url}/v24.0/${path.join('/')}`)
  }
  return { error: /^\d+$/.test(id) ? UNKNOWN_OBJECT : UNKNOWN_PATH }
}

/** Answers a call about one object by its ID. */
function answerObjectCall({ phoneNumberId, url, templates, media }: BusinessAccount, id: string, call: Call): Reply {
  const { method } = call
  const template = templates.all.get(id)
  if (template) return method === 'POST' ? templates.edit(template, call) : { body: template }
  if (id.startsWith('upload:') && method === 'POST') return media.finishSample(id)
  if (id === phoneNumberId && method === 'GET') return { body: describeNumber(phoneNumberId) }
  if (media.files.has(id)) return method === 'DELETE' ? media.delete(id) : media.describe(id, url)
  return { error: UNKNOWN_OBJECT }
}

function describeNumber(id: string): object {
  return {
    id,
    display_phone_number: `+${DISPLAY_NUMBER}`,
    verified_name: 'Fake business',
    quality_rating: 'GREEN',
    code_verification_status: 'VERIFIED',
    platform_type: 'CLOUD_API',
    throughput: { level: 'STANDARD' },
    messaging_limit_tier: 'TIER_100K',
  }
}
