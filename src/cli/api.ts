import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../platform/time.ts'
import { getField } from '../platform/fields.ts'
import { ProblemError } from './workflow-files.ts'

const TIMEOUT_MS = 60 * SECOND
/** More than a list of as many workflows as a workspace may have, and than all tests of one. */
const ANSWER_BYTES_MAX = 64 * 1024 ** 2
/** The window of the limits of an API key. Longer waits are reported instead. */
const WAIT_SECONDS_MAX = 60
const ATTEMPTS_MAX = 3

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

  /**
   * Makes a call, again after the wait that the server asks for if the key has made too many.
   * @throws ProblemError if the server cannot be reached or refuses the call
   */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const { response, answer } = await this.#send(method, path, body)
      if (response.ok) return answer as T
      const seconds = response.status === 429 ? Number(response.headers.get('retry-after')) : 0
      if (!(seconds > 0 && seconds <= WAIT_SECONDS_MAX) || attempt === ATTEMPTS_MAX) {
        const reason = getField(answer, 'error')
        const text = typeof reason === 'string' ? reason : ''
        throw new ProblemError(`${method} ${path}: ${response.status} ${text}`.trim())
      }
      await delay(seconds * SECOND)
    }
  }

  async #send(method: string, path: string, body: unknown): Promise<{ response: Response; answer: unknown }> {
    try {
      const response = await fetch(`${this.#base}${path}`, {
        method,
        headers: this.#headers,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { response, answer: parseAnswer(response, await readText(response)) }
    } catch (error) {
      if (error instanceof ProblemError) throw new ProblemError(`${method} ${path}: ${error.message}`)
      const cause = getField(error, 'cause') ?? error
      const code = getField(cause, 'code')
      // The code of a timeout is a number, which says nothing.
      const reason = typeof code === 'string' ? code : getField(cause, 'message')
      throw new ProblemError(`${this.#base} does not answer: ${String(reason)}`)
    }
  }
}

/** @throws ProblemError without reading the rest of a text that is too long */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    const part: Uint8Array = chunk
    size += part.length
    if (size > ANSWER_BYTES_MAX) throw new ProblemError('the answer has more than 64 MB')
    chunks.push(part)
  }
  return Buffer.concat(chunks).toString()
}

/** Parses an answer. One of an error may have any form. @throws ProblemError */
function parseAnswer({ ok, headers }: Response, text: string): unknown {
  if (text === '') return {}
  try {
    if (headers.get('content-type')?.includes('json') === true) return JSON.parse(text)
  } catch {
    // Handled with every other text that is not JSON.
  }
  if (!ok) return {}
  throw new ProblemError('the answer is no JSON, so this is not the address of Parley')
}
