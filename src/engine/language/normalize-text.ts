/** Normalizes case, blanks and Unicode form, so that "  Sí " equals "sí". */
export function normalizeText(text: string): string {
  return text.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase()
}
