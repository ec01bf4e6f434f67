const TOKEN =
  /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)|hi, this is round \d+|Contact \+\d+)/

/** Rows as JSON that were written once, with places for what differs from one writing to the next. */
export class RowTemplate {
  readonly #parts: string[]

  /** `names` gives the texts that differ a name; the moment `now` is one, however it is written. */
  constructor(rows: object[], names: Map<string, string>, now: Date) {
    const isNow = (text: string) => /^\d{4}-\d\d-\d\dT/.test(text) && Date.parse(text) === now.getTime()
    this.#parts = JSON.stringify(rows)
      .slice(1, -1)
      .split(TOKEN)
      .reduce<string[]>((parts, text, index) => {
        const name = index % 2 === 1 ? (isNow(text) ? 'now' : names.get(text)) : undefined
        if (name !== undefined) return [...parts, name, '']
        return [...parts.slice(0, -1), `${parts.at(-1) ?? ''}${text}`]
      }, [])
  }

  /** The rows, without the brackets of a list. */
  fill(values: Record<string, string>): string {
    return this.#parts.map((part, index) => (index % 2 === 1 ? values[part] : part)).join('')
  }
}
