const TOKEN =
  /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)|hi, this is round \d+|Contact \+\d+)/

/** A template of rows as JSON, made from sample rows by replacing the values that differ with placeholders. */
export class RowTemplate {
  /** Literal text and placeholder names, alternating. */
  readonly #parts: string[]

  /** `names` maps values to placeholder names; the time `now` becomes the placeholder `now` in every notation. */
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

  /** Returns the rows as JSON, without the brackets of the array. */
  fill(values: Record<string, string>): string {
    return this.#parts.map((part, index) => (index % 2 === 1 ? values[part] : part)).join('')
  }
}
