import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { DEFAULT_SETTINGS, KeywordSettings, listKeywords, normalizeKeyword } from './keywords.ts'
import type { ConsentKeywords, PutConsentKeywords } from './schema.ts'

/** Loads the keyword settings of the workspace. */
export async function loadKeywordSettings(scope: Scope): Promise<KeywordSettings> {
  const [row] = await scope.sql<{ settings: unknown }>('loadKeywordSettings')`
    select consent_keywords as settings from workspaces where id = ${scope.tenantId}`
  return row?.settings ? KeywordSettings.parse(row.settings) : DEFAULT_SETTINGS
}

const CACHED_MS = 3 * SECOND
const CACHE_KEY = 'consent keywords'

/** Loads the keyword settings as they were at most 3 seconds ago. Changes that this process makes take effect at once. */
export function loadCachedKeywordSettings(scope: Scope): Promise<KeywordSettings> {
  return scope.cached(CACHE_KEY, CACHED_MS, () => loadKeywordSettings(scope))
}

export async function getConsentKeywords(scope: Scope): Promise<ConsentKeywords> {
  return toConsentKeywords(await loadKeywordSettings(scope))
}

/** Replaces the keyword settings of the workspace. */
export async function putConsentKeywords(scope: Scope, input: PutConsentKeywords): Promise<ConsentKeywords> {
  const settings: KeywordSettings = {
    language: input.language,
    optOut: toChanges(input.optOut),
    optIn: toChanges(input.optIn),
  }
  await scope.sql('putConsentKeywords')`
    update workspaces set consent_keywords = ${JSON.stringify(settings)}, updated_at = ${scope.now()}
    where id = ${scope.tenantId}`
  scope.forget(CACHE_KEY)
  return toConsentKeywords(settings)
}

function toChanges({ added, removed, confirmation }: PutConsentKeywords['optOut']): KeywordSettings['optOut'] {
  return { added: toWords(added), removed: toWords(removed), confirmation }
}

function toWords(words: string[]): string[] {
  return [...new Set(words.map(normalizeKeyword))].sort()
}

function toConsentKeywords(settings: KeywordSettings): ConsentKeywords {
  const { language, optOut, optIn } = settings
  return {
    language,
    optOut: { ...optOut, words: listKeywords(settings, 'opted_out') },
    optIn: { ...optIn, words: listKeywords(settings, 'opted_in') },
  }
}
