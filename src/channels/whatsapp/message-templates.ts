import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { BadGatewayError } from '../../platform/errors.ts'
import { SECOND } from '../../platform/time.ts'
import type { ProviderTemplate, ProviderTemplateStatus, TemplateProvider, TemplateSubmission } from '../channel.ts'
import { type ApiResponse, callGraphApi } from './post-message.ts'
import { list, text } from './provider-json.ts'
import type { WhatsappSettings } from './settings.ts'

const TIMEOUT_MS = 15 * SECOND
const RESPONSE_BYTES_MAX = 4 * 1024 * 1024
const PAGE_SIZE = 100
const COMPONENTS_MAX = 20
/** Longest JSON of the components of one template. */
const COMPONENTS_LENGTH_MAX = 64 * 1024
const REASON_MAX = 500

const STATUSES: Record<string, ProviderTemplateStatus> = {
  PENDING: 'pending',
  APPROVED: 'approved',
  REJECTED: 'rejected',
  PAUSED: 'paused',
  DISABLED: 'disabled',
  LIMIT_EXCEEDED: 'disabled',
  LOCKED: 'disabled',
  IN_APPEAL: 'in_appeal',
  ARCHIVED: 'archived',
  PENDING_DELETION: 'deleted',
  DELETED: 'deleted',
}

const Id = z.union([z.string().min(1).max(64), z.int().transform(String)])
const Category = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['marketing', 'utility', 'authentication']))
const Status = z
  .string()
  .refine((status) => Object.hasOwn(STATUSES, status))
  .transform((status): ProviderTemplateStatus => STATUSES[status] ?? 'disabled')

const Created = z.looseObject({
  id: Id,
  status: Status.nullable().catch(null),
  category: Category.nullable().catch(null),
})
const Listed = z.looseObject({
  id: Id,
  name: z.string().regex(/^[a-z0-9_]{1,512}$/),
  language: z.string().min(1).max(20),
  category: Category,
  status: Status,
  components: z
    .array(z.record(z.string(), z.unknown()))
    .max(COMPONENTS_MAX)
    .refine((components) => JSON.stringify(components).length <= COMPONENTS_LENGTH_MAX),
  rejected_reason: text,
  quality_score: z
    .looseObject({
      score: z
        .string()
        .toLowerCase()
        .pipe(z.enum(['green', 'yellow', 'red'])),
    })
    .nullable()
    .catch(null),
})
const Page = z.looseObject({
  data: list,
  paging: z
    .looseObject({
      cursors: z.looseObject({ after: z.string().max(1000).optional() }).optional(),
      next: z.string().optional(),
    })
    .optional()
    .catch(undefined),
})
const Failure = z.looseObject({
  error: z.looseObject({
    code: z.int().nullable().catch(null),
    error_subcode: z.int().nullable().catch(null),
    message: text,
    error_user_msg: z.string().optional().catch(undefined),
    error_data: z.looseObject({ details: z.string().optional() }).optional().catch(undefined),
  }),
})

type Connection = WhatsappSettings & {
  wabaId: string
  accessToken: string
  timeoutMs: number | undefined
  agent: Dispatcher
}

/** Creates the client of the templates of a WhatsApp Business Account. */
export function whatsappTemplates(connection: Connection): TemplateProvider {
  const { wabaId } = connection
  const path = `${wabaId}/message_templates`
  return {
    async create(template) {
      const body = await call(
        connection,
        'POST',
        path,
        {},
        { ...toPayload(template), name: template.name, language: template.language },
      )
      const created = Created.safeParse(body).data
      if (!created) throw unreadable()
      return { providerTemplateId: created.id, status: created.status, category: created.category }
    },
    async replace(providerTemplateId, template) {
      await call(connection, 'POST', providerTemplateId, {}, toPayload(template))
    },
    async remove({ providerTemplateId, name }) {
      try {
        await call(connection, 'DELETE', path, { name, hsm_id: providerTemplateId })
      } catch (error) {
        if (!isMissing(error)) throw error
      }
    },
    async listPage(cursor) {
      const fields = 'id,name,language,category,status,components,quality_score,rejected_reason'
      const after: Record<string, string> = cursor === null ? {} : { after: cursor }
      const page = Page.safeParse(
        await call(connection, 'GET', path, { fields, limit: String(PAGE_SIZE), ...after }),
      ).data
      if (!page) throw unreadable()
      const templates = page.data.slice(0, PAGE_SIZE).flatMap(toProviderTemplate)
      const { next, cursors } = page.paging ?? {}
      const following = next === undefined ? null : (cursors?.after ?? null)
      return { templates, skipped: page.data.length - templates.length, next: following }
    },
  }
}

function toPayload({ category, parameterFormat, components }: TemplateSubmission): object {
  const format = parameterFormat === null ? {} : { parameter_format: parameterFormat.toUpperCase() }
  return { category: category.toUpperCase(), ...format, components }
}

function toProviderTemplate(input: unknown): ProviderTemplate[] {
  const template = Listed.safeParse(input).data
  if (!template) return []
  const { id, name, language, category, status, components, rejected_reason: reason } = template
  return [
    {
      providerTemplateId: id,
      name,
      language,
      category,
      status,
      components,
      quality: template.quality_score?.score ?? null,
      rejectionReason: reason && reason !== 'NONE' ? reason : null,
    },
  ]
}

async function call(
  { baseUrl, version, accessToken, timeoutMs = TIMEOUT_MS, agent }: Connection,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  query: Record<string, string>,
  payload?: object,
): Promise<unknown> {
  const search = new URLSearchParams(query).toString()
  const url = `${baseUrl}/${version}/${path}${search === '' ? '' : `?${search}`}`
  const signal = AbortSignal.timeout(timeoutMs)
  const request = {
    url,
    method,
    accessToken,
    agent,
    signal,
    bytesMax: RESPONSE_BYTES_MAX,
    ...(payload ? { payload } : {}),
  }
  const response = await callGraphApi(request).catch((cause: unknown) => {
    // The text of the error may quote the request.
    throw new BadGatewayError(
      'provider_error',
      'WhatsApp cannot be reached, or did not answer in time. Synchronize the templates to learn the outcome, and try again',
      undefined,
      { cause },
    )
  })
  if (response.status >= 200 && response.status < 300) return response.body
  throw toError(response)
}

/** Subcode of a name that the account has already in this language, such as after a submission that was cut off. */
const ALREADY_EXISTS = 2388024

function toError({ status, body }: ApiResponse): BadGatewayError {
  const error = Failure.safeParse(body).data?.error
  const reason = error?.error_user_msg || error?.error_data?.details || error?.message
  const explained =
    reason === undefined ? `the response had status ${status}` : reason.slice(0, REASON_MAX).toWellFormed()
  const exists = error?.error_subcode === ALREADY_EXISTS
  const remedy = exists ? '. Synchronize the templates of the channel to adopt the existing one' : ''
  return new BadGatewayError('provider_error', `WhatsApp did not accept the request: ${explained}${remedy}`, {
    providerCode: error?.code ?? null,
    providerSubcode: error?.error_subcode ?? null,
  })
}

function unreadable(): BadGatewayError {
  return new BadGatewayError(
    'provider_error',
    'The response of WhatsApp cannot be read. Check the base URL of the channel',
  )
}

/** Code of a request about an object that does not exist, and its subcode for templates. */
const MISSING_CODE = 100
const MISSING_SUBCODES = new Set([2593002, 33])

function isMissing(error: unknown): boolean {
  if (!(error instanceof BadGatewayError) || Array.isArray(error.details)) return false
  const { providerCode, providerSubcode } = error.details ?? {}
  return providerCode === MISSING_CODE && (typeof providerSubcode !== 'number' || MISSING_SUBCODES.has(providerSubcode))
}
