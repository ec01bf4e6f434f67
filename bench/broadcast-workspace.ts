import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { FakeCloudApi } from '../fake-whatsapp/fake-cloud-api.ts'
import { BenchClient } from './http-client.ts'

const BODY = 'Hello {{name}}, the sale starts today.'
const POLL_INTERVAL_MS = 200

export type BroadcastStatus = { status: string; startedAt: string; snapshotAt: string | null }

/** A workspace with a WhatsApp number at a local provider and an approved template. */
export class BroadcastWorkspace {
  readonly client: BenchClient
  readonly provider: FakeCloudApi
  readonly channelId: string
  readonly #database: pg.Client
  readonly #templateId: string
  #audiences = 0
  #contacts = 0

  private constructor(parts: {
    client: BenchClient
    provider: FakeCloudApi
    database: pg.Client
    channelId: string
    templateId: string
  }) {
    this.client = parts.client
    this.provider = parts.provider
    this.#database = parts.database
    this.channelId = parts.channelId
    this.#templateId = parts.templateId
  }

  static async create(url: string, database: pg.Client): Promise<BroadcastWorkspace> {
    const client = new BenchClient(url, 10)
    await client.signUp()
    const provider = await FakeCloudApi.start()
    const channel = { type: 'whatsapp', name: 'Bench', ...provider.settings, ...provider.credentials }
    const { id: channelId, webhookPath } = await client.post<{ id: string; webhookPath: string }>(
      '/api/channels',
      channel,
    )
    provider.webhooks.callbackUrl = url + webhookPath
    const template = { channelId, name: 'bench_sale', language: 'en', category: 'utility', body: BODY }
    const { id: templateId } = await client.post<{ id: string }>('/api/templates', template)
    await client.post(`/api/templates/${templateId}/submit`, {})
    await provider.templates.approve('bench_sale')
    return new BroadcastWorkspace({ client, provider, database, channelId, templateId })
  }

  /** Creates contacts in a language of their own, and returns it. */
  async createAudience(count: number): Promise<string> {
    this.#audiences += 1
    const language = `x-${this.#audiences}`
    await this.#database.query(
      `insert into contacts (tenant_id, id, name, phone, phone_key, country, language, source, created_at, updated_at)
       select $1, gen_random_uuid(), 'Contact ' || n, '+4915' || (100000000 + n), '+4915' || (100000000 + n), 'DE', $2,
         'import', now(), now() from generate_series($3::int, $4::int) n`,
      [this.client.tenantId, language, this.#contacts, this.#contacts + count - 1],
    )
    this.#contacts += count
    await this.#database.query('vacuum analyze contacts')
    return language
  }

  /** Creates a draft to the contacts of a language, and returns its ID. */
  async createDraft(language: string): Promise<string> {
    const broadcast = {
      name: 'Bench',
      templateId: this.#templateId,
      params: { name: '{{contact.name}}' },
      audience: { filter: { language } },
    }
    return (await this.client.post<{ id: string }>('/api/broadcasts', broadcast)).id
  }

  async setSpeed(perSecond: number): Promise<void> {
    await this.#database.query('update channels set broadcasts_per_second = $3 where tenant_id = $1 and id = $2', [
      this.client.tenantId,
      this.channelId,
      perSecond,
    ])
  }

  /** Holds back the messages of broadcasts while their recipients are listed. */
  async setConnected(isConnected: boolean): Promise<void> {
    await this.#database.query('update channels set status = $3 where tenant_id = $1 and id = $2', [
      this.client.tenantId,
      this.channelId,
      isConnected ? 'connected' : 'disconnected',
    ])
    // A disconnected channel is looked at every 10 s, and the time until then is not to be measured.
    if (isConnected) {
      await this.#database.query('update broadcasts set work_at = now() where tenant_id = $1 and work_at is not null', [
        this.client.tenantId,
      ])
    }
  }

  async waitUntil(broadcastId: string, isReached: (status: BroadcastStatus) => boolean): Promise<BroadcastStatus> {
    for (;;) {
      const broadcast = await this.client.getJson<BroadcastStatus>(`/api/broadcasts/${broadcastId}`)
      if (isReached(broadcast)) return broadcast
      if (['paused', 'failed', 'canceled'].includes(broadcast.status))
        throw new Error(`The broadcast is ${JSON.stringify(broadcast)}`)
      await delay(POLL_INTERVAL_MS)
    }
  }
}
