import { parseProviderJson } from '../provider-json.ts'

/** Longer answers would not fit into the content of a message. */
const LENGTH_MAX = 64 * 1024

/** Parses the answers to a WhatsApp Flow, which arrive as JSON text; undefined if they are not an object. */
export function parseFlowAnswers(json: string): object | undefined {
  if (json.length > LENGTH_MAX) return undefined
  try {
    const answers = parseProviderJson(Buffer.from(json))
    return typeof answers === 'object' && answers !== null && !Array.isArray(answers) ? answers : undefined
  } catch {
    return undefined
  }
}
