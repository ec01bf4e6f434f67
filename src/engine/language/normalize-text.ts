/** Texts that a person takes for the same: "  Sí " and "sí". */
export function normalizeText(text: string): string {
  return text.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase()
}
