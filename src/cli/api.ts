import { SECOND } from '../platform/time.ts'
import { getField } from '../platform/fields.ts'
import { ProblemError } from './workflow-files.ts'

const TIMEOUT_MS = 60 * SECOND

type Options = { url: string; apiKey: string; workspace: string }

/** The REST API of one workspace, each call of which ends after a minute. */
export class ParleyApi {
  readonly #base: string
  readonly #headers: Record<string, string>

  constructor({ url, apiKey, workspace }: Options) {
    this.#base = `${url.replace(/\/$/, '')}/api`
    this.#headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(workspace === '' ? {} : { 'x-tenant-id': workspace }),
    }
  }

  /** @throws ProblemError if the server cannot be reached or refuses the call */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.#fetch(method, path, body)
    const text = await response.text()
    const answer: unknown = isJson(response) && text !== '' ? JSON.parse(text) : {}
    if (response.ok) return answer as T
    const reason = getField(answer, 'error')
    throw new ProblemError(`${method} ${path}: ${response.status} ${typeof reason === 'string' ? reason : ''}`.trim())
  }

  async #fetch(method: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(`${this.#base}${path}`, {
        method,
        headers: this.#headers,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    } catch (error) {
      const cause = getField(error, 'cause') ?? error
      const reason = getField(cause, 'code') ?? getField(cause, 'message')
      throw new ProblemError(`${this.#base} does not answer: ${String(reason)}`)
    }
  }
}

function isJson(response: Response): boolean {
  return response.headers.get('content-type')?.includes('json') === true
}
