import type { Clock } from '../src/platform/time.ts'
import { type Call, type CloudApiError, invalid, type JsonObject, parseObject, type Reply, textAt } from './http.ts'
import { newObjectId } from './object-id.ts'
import { validateTemplate } from './validate-template.ts'
import type { CloudApiWebhooks } from './webhooks.ts'

export type TemplateStatus = 'PENDING' | 'APPROVED' | 'REJECTED' | 'PAUSED' | 'DISABLED'
export type TemplateFields = {
  name: string
  language: string
  category: string
  components: unknown[]
  parameter_format?: string
}
export type FakeTemplate = Required<TemplateFields> & {
  id: string
  status: TemplateStatus
  rejected_reason: string
  quality_score: { score: string }
}

const PAGE_MAX = 100
const TEMPLATES_MAX = 6000
const ALREADY_EXISTS = 2388024

/** Templates of a business account with their approval, which is decided by order or after `decidesAfterMs`. */
export class FakeTemplates {
  readonly all = new Map<string, FakeTemplate>()
  /** Time after which a template is approved; undefined leaves it pending until `approve` or `reject`. */
  decidesAfterMs: number | undefined
  readonly #webhooks: CloudApiWebhooks
  readonly #clock: Clock
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(webhooks: CloudApiWebhooks, clock: Clock) {
    this.#webhooks = webhooks
    this.#clock = clock
  }

  /** Stores a template without the application, by default approved, as one made in the business manager. */
  add(fields: Partial<TemplateFields> & { name: string; status?: TemplateStatus }): FakeTemplate {
    const template: FakeTemplate = {
      language: 'en',
      category: 'MARKETING',
      components: [{ type: 'BODY', text: 'Hello' }],
      parameter_format: 'POSITIONAL',
      status: 'APPROVED',
      rejected_reason: 'NONE',
      quality_score: { score: 'UNKNOWN' },
      id: newObjectId(),
      ...fields,
    }
    this.all.set(template.id, template)
    return template
  }

  /** Finds a template by its ID, or by its name and language; the first language if none is named. */
  find(idOrName: string, language?: string): FakeTemplate | undefined {
    const isNamed = ({ name, language: own }: FakeTemplate) => name === idOrName && (language ?? own) === own
    return this.all.get(idOrName) ?? [...this.all.values()].find(isNamed)
  }

  approve(idOrName: string): Promise<number> {
    return this.#decide(idOrName, 'APPROVED', 'APPROVED', {})
  }

  reject(idOrName: string, reason = 'INVALID_FORMAT'): Promise<number> {
    return this.#decide(idOrName, 'REJECTED', 'REJECTED', { reason })
  }

  pause(idOrName: string): Promise<number> {
    const info = { other_info: { title: 'FIRST_PAUSE', description: 'The template was paused for low quality' } }
    return this.#decide(idOrName, 'PAUSED', 'PAUSED', info)
  }

  disable(idOrName: string): Promise<number> {
    const date = Math.floor(this.#clock.now().getTime() / 1000)
    return this.#decide(idOrName, 'DISABLED', 'DISABLED', { disable_info: { disable_date: date } })
  }

  /** Ends a pause. */
  reinstate(idOrName: string): Promise<number> {
    return this.#decide(idOrName, 'APPROVED', 'REINSTATED', {})
  }

  /** Changes the quality and reports it: `GREEN`, `YELLOW`, `RED` or `UNKNOWN`. */
  changeQuality(idOrName: string, score: string): Promise<number> {
    const template = this.#get(idOrName)
    const previous = template.quality_score.score
    template.quality_score = { score }
    return this.#webhooks.sendChange('message_template_quality_update', {
      previous_quality_score: previous,
      new_quality_score: score,
      ...nameFields(template),
    })
  }

  /** Changes the category, as the provider does when the content does not fit it, and reports it. */
  changeCategory(idOrName: string, category: string): Promise<number> {
    const template = this.#get(idOrName)
    const previous = template.category
    template.category = category
    return this.#webhooks.sendChange('template_category_update', {
      ...nameFields(template),
      previous_category: previous,
      new_category: category,
    })
  }

  /** Answers `POST /<business account ID>/message_templates`. */
  create({ bytes }: Call): Reply {
    const body = parseObject(bytes)
    const error = body ? validateTemplate(body) : invalid('The body must be a JSON object')
    if (error || !body) return { error: error ?? invalid('The body must be a JSON object') }
    const [name, language] = [textAt(body, 'name'), textAt(body, 'language')]
    if (this.all.size >= TEMPLATES_MAX) return { error: invalid('The account has too many templates') }
    if ([...this.all.values()].some((known) => known.name === name && known.language === language))
      return { error: { ...invalid('Content in this language already exists'), subcode: ALREADY_EXISTS } }
    const { id, status, category } = this.add({
      name,
      language,
      category: textAt(body, 'category').toUpperCase(),
      components: toComponents(body),
      parameter_format: (textAt(body, 'parameter_format') || 'POSITIONAL').toUpperCase(),
      status: 'PENDING',
    })
    this.#scheduleApproval(id)
    return { body: { id, status, category } }
  }

  /** Answers `GET /<business account ID>/message_templates`, in pages. */
  list({ query }: Call, url: string): Reply {
    const limit = Math.min(Number(query.get('limit') ?? 25) || 25, PAGE_MAX)
    const matches = (field: 'name' | 'language' | 'status' | 'category') => (template: FakeTemplate) =>
      (query.get(field) ?? template[field]) === template[field]
    const found = [...this.all.values()]
      .filter(matches('name'))
      .filter(matches('language'))
      .filter(matches('status'))
      .filter(matches('category'))
    const start = found.findIndex(({ id }) => id === query.get('after')) + 1
    const data = found.slice(start, start + limit)
    const cursors = { before: data[0]?.id, after: data.at(-1)?.id }
    const next = new URLSearchParams(query)
    if (cursors.after !== undefined) next.set('after', cursors.after)
    const hasMore = start + limit < found.length
    return { body: { data, paging: { cursors, ...(hasMore ? { next: `${url}?${next}` } : {}) } } }
  }

  /** Answers `POST /<template ID>`: an edited template needs a new approval. */
  edit(template: FakeTemplate, { bytes }: Call): Reply {
    const body = parseObject(bytes)
    if (!body) return { error: invalid('The body must be a JSON object') }
    if (template.status === 'PENDING' || template.status === 'DISABLED')
      return { error: invalid('Only approved, rejected and paused templates can be edited') }
    const edited = { ...template, ...('category' in body ? { category: textAt(body, 'category').toUpperCase() } : {}) }
    if ('components' in body) edited.components = toComponents(body)
    const error = validateTemplate(edited)
    if (error) return { error }
    this.all.set(template.id, { ...edited, status: 'PENDING', rejected_reason: 'NONE' })
    this.#scheduleApproval(template.id)
    return { body: { success: true } }
  }

  /** Answers `DELETE /<business account ID>/message_templates`: all languages of a name, or one by `hsm_id`. */
  delete({ query }: Call): Reply {
    const [name, id] = [query.get('name'), query.get('hsm_id')]
    const found = [...this.all.values()].filter((known) => known.name === name && (id ?? known.id) === known.id)
    for (const template of found) this.all.delete(template.id)
    return found.length > 0 ? { body: { success: true } } : { error: invalid('The template does not exist') }
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #get(idOrName: string): FakeTemplate {
    const template = this.find(idOrName)
    if (!template) throw new Error(`The fake Cloud API has no template "${idOrName}".`)
    return template
  }

  /** Reports the new status and resolves with the status of the response; 0 if no webhooks are received. */
  async #decide(idOrName: string, status: TemplateStatus, event: string, info: JsonObject): Promise<number> {
    const template = this.#get(idOrName)
    const reason = textAt(info, 'reason') || 'NONE'
    Object.assign(template, { status, rejected_reason: reason })
    if (this.#webhooks.callbackUrl === undefined) return 0
    return this.#webhooks.sendChange('message_template_status_update', {
      event,
      ...nameFields(template),
      message_template_category: template.category,
      ...info,
      reason,
    })
  }

  #scheduleApproval(id: string): void {
    if (this.decidesAfterMs === undefined) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (this.all.get(id)?.status === 'PENDING') this.approve(id).catch(() => undefined)
    }, this.decidesAfterMs)
    this.#timers.add(timer)
  }
}

function nameFields({ id, name, language }: FakeTemplate): JsonObject {
  return { message_template_id: Number(id), message_template_name: name, message_template_language: language }
}

function toComponents({ components }: JsonObject): unknown[] {
  return Array.isArray(components) ? components : []
}

/** Error of a send that names a template which cannot be sent; undefined if it can. */
export function findTemplateError(template: FakeTemplate | undefined): CloudApiError | undefined {
  if (template?.status === 'PAUSED') return { status: 400, code: 132015, details: 'Template is paused' }
  if (template?.status === 'DISABLED') return { status: 400, code: 132016, details: 'Template is disabled' }
  if (template?.status === 'APPROVED') return undefined
  return { status: 404, code: 132001, details: 'Template name does not exist in the translation' }
}
