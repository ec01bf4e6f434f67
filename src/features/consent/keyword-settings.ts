import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { KeywordLanguage } from './keyword-lists.ts'
import { DEFAULT_SETTINGS, findKeywordLanguage, KeywordSettings, listKeywords, normalizeKeyword } from './keywords.ts'
import type { ConsentKeywords, PutConsentKeywords } from './schema.ts'

/** Loads the keyword settings of the workspace. Without any, its language is that of the confirmations. */
export async function loadKeywordSettings(scope: Scope): Promise<KeywordSettings> {
  const [row] = await scope.sql<{ settings: unknown; language: string | null }>('loadKeywordSettings')`
    select consent_keywords as settings, language from workspaces where id = ${scope.tenantId}`
  if (row?.settings) return KeywordSettings.parse(row.settings)
  return { ...DEFAULT_SETTINGS, language: findKeywordLanguage(row?.language) ?? DEFAULT_SETTINGS.language }
}

const CACHED_MS = 3 * SECOND
const CACHE_KEY = 'consent keywords'

/** Loads the keyword settings as they were at most 3 seconds ago. Changes that this process makes take effect at once. */
export function loadCachedKeywordSettings(scope: Scope): Promise<KeywordSettings> {
  return scope.cached(CACHE_KEY, CACHED_MS, () => loadKeywordSettings(scope))
}

/** Makes a change of the language of the workspace effective in this process, in a transaction after its commit. */
export function forgetKeywordSettings(scope: Scope): void {
  scope.forget(CACHE_KEY)
}

export async function getConsentKeywords(scope: Scope): Promise<ConsentKeywords> {
  return toConsentKeywords(await loadKeywordSettings(scope))
}

/** Replaces the keyword settings of the workspace. The language is that of the workspace unless one is named. */
export function putConsentKeywords(scope: Scope, input: PutConsentKeywords): Promise<ConsentKeywords> {
  return scope.transaction(async (tx) => {
    const settings: KeywordSettings = {
      language: input.language ?? (await findWorkspaceLanguage(tx)) ?? DEFAULT_SETTINGS.language,
      optOut: toChanges(input.optOut),
      optIn: toChanges(input.optIn),
    }
    await tx.sql('putConsentKeywords')`
      update workspaces set consent_keywords = ${JSON.stringify(settings)}, updated_at = ${tx.now()}
      where id = ${tx.tenantId}`
    forgetKeywordSettings(tx)
    return toConsentKeywords(settings)
  })
}

async function findWorkspaceLanguage(scope: Scope): Promise<KeywordLanguage | undefined> {
  const [row] = await scope.sql<{ language: string | null }>('findWorkspaceLanguage')`
    select language from workspaces where id = ${scope.tenantId}`
  return findKeywordLanguage(row?.language)
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
