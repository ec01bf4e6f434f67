import { z } from 'zod'
import { CONFIRMATIONS, KEYWORD_LANGUAGES, KEYWORDS, type KeywordLanguage } from './keyword-lists.ts'

const Changes = z.object({
  added: z.array(z.string()),
  removed: z.array(z.string()),
  confirmation: z.string().nullable(),
})

/** Changes of a workspace to the built-in words and texts, as they are stored. Words are normalized. */
export const KeywordSettings = z.object({ language: z.enum(KEYWORD_LANGUAGES), optOut: Changes, optIn: Changes })
export type KeywordSettings = z.infer<typeof KeywordSettings>

const NO_CHANGES = { added: [], removed: [], confirmation: null }
export const DEFAULT_SETTINGS: KeywordSettings = { language: 'en', optOut: NO_CHANGES, optIn: NO_CHANGES }

type ChosenState = 'opted_in' | 'opted_out'
export type ConsentKeyword = { state: ChosenState; keyword: string; language: KeywordLanguage | null }

/** Longest text that can be a keyword. */
export const KEYWORD_LENGTH_MAX = 60

const BUILT_IN = { opted_out: indexWords('opted_out'), opted_in: indexWords('opted_in') }

/** Maps each normalized word to its language; to null if it belongs to several. */
function indexWords(state: ChosenState): Map<string, KeywordLanguage | null> {
  const words = new Map<string, KeywordLanguage | null>(
    KEYWORDS[state].any.map((word) => [normalizeKeyword(word), null]),
  )
  for (const language of KEYWORD_LANGUAGES) {
    for (const word of KEYWORDS[state][language].map(normalizeKeyword))
      words.set(word, words.has(word) ? null : language)
  }
  return words
}

/** Removes accents, punctuation and symbols, and normalizes case and blanks, so that "  ¡STOP! " equals "stop". */
export function normalizeKeyword(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[\p{P}\p{S}\s]+/gu, ' ')
    .trim()
    .toLowerCase()
}

/** Finds the keyword that a whole message consists of. Of a word in both lists the opt-out counts. */
export function findConsentKeyword(settings: KeywordSettings, body: string | null): ConsentKeyword | undefined {
  if (body === null || body.length > KEYWORD_LENGTH_MAX) return undefined
  const keyword = normalizeKeyword(body)
  const state = (['opted_out', 'opted_in'] as const).find((one) => isKeyword(settings, one, keyword))
  return state && { state, keyword, language: BUILT_IN[state].get(keyword) ?? null }
}

function isKeyword(settings: KeywordSettings, state: ChosenState, word: string): boolean {
  const { added, removed } = selectChanges(settings, state)
  return (BUILT_IN[state].has(word) || added.includes(word)) && !removed.includes(word)
}

/** Lists the words of a state, sorted: the built-in ones and those of the workspace, without those that it removed. */
export function listKeywords(settings: KeywordSettings, state: ChosenState): string[] {
  const words = new Set([...BUILT_IN[state].keys(), ...selectChanges(settings, state).added])
  return [...words].filter((word) => isKeyword(settings, state, word)).sort()
}

/**
 * Returns the text that confirms a change: that of the workspace, else one in the language of the contact, of the keyword
 * or of the workspace.
 */
export function composeConfirmation(
  settings: KeywordSettings,
  { state, language }: ConsentKeyword,
  contactLanguage: string | null,
): string {
  const { confirmation } = selectChanges(settings, state)
  const spoken = findKeywordLanguage(contactLanguage)
  return confirmation ?? CONFIRMATIONS[state][spoken ?? language ?? settings.language]
}

/** Finds the language of a tag such as `pt-BR` or `pt_BR`, if there are words in it. */
export function findKeywordLanguage(tag: string | null | undefined): KeywordLanguage | undefined {
  const [language] = tag?.toLowerCase().split(/[-_]/) ?? []
  return KEYWORD_LANGUAGES.find((known) => known === language)
}

function selectChanges({ optOut, optIn }: KeywordSettings, state: ChosenState): KeywordSettings['optOut'] {
  return state === 'opted_out' ? optOut : optIn
}
