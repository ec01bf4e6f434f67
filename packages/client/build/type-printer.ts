import ts from 'typescript'

/** A type with members, in which `§n§` stands for the type with the number n. */
type Node = { text: string; path: string[]; alias: string | undefined; uses: number; isRecursive: boolean }

const REFERENCE = /§(\d+)§/g
/** A text of this length or less is repeated instead of getting a name. */
const INLINE_LENGTH_MAX = 60
/** Types of the language that are printed by their names. */
const BUILT_IN = new Set(['Date', 'Uint8Array', 'Blob', 'File', 'FormData'])

/**
 * Prints types as plain TypeScript, without the files and packages that define them. What occurs several times, or in
 * itself, becomes a named type.
 */
export class TypePrinter {
  readonly #checker: ts.TypeChecker
  readonly #nodes: Node[] = []
  readonly #numbers = new Map<ts.Type, number>()
  readonly #numbersByText = new Map<string, number>()
  readonly #open = new Set<number>()
  readonly #exported = new Map<number, string>()

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  /** Returns the text of a type, for `declare`. The path names what has no name of its own. */
  print(type: ts.Type, path: string[]): string {
    if (type.flags & ts.TypeFlags.Boolean) return 'boolean'
    if (type.isUnion()) return this.#printUnion(type, path)
    if (type.isStringLiteral()) return quote(type.value)
    if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return this.#printObject(type, path)
    if (type.flags & ts.TypeFlags.NonPrimitive) return 'object'
    return this.#checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation)
  }

  /** Returns the declaration of a type under a name; an empty text if `declare` writes it, as other types use it as well. */
  printExport(name: string, type: ts.Type): string {
    const text = this.print(type, [name, 'Of'])
    const number = /^§(\d+)§$/.exec(text)?.[1]
    if (number === undefined || this.#exported.has(Number(number))) return `export type ${name} = ${text}`
    this.#exported.set(Number(number), name)
    return ''
  }

  /** Replaces the references in the texts, and returns them below the declarations of the types with names. */
  declare(texts: string[]): string {
    const named = this.#nameNodes()
    const resolve = (text: string): string =>
      text.replace(REFERENCE, (_, number: string) => {
        const node = this.#nodes[Number(number)]
        return named.get(Number(number)) ?? resolve(node?.text ?? 'never')
      })
    const declarations = [...named].map(([number, name]) => {
      const text = this.#nodes[number]?.text ?? 'never'
      return `export type ${name} = ${resolve(text)}`
    })
    return [...declarations, ...texts.map(resolve)].filter(Boolean).join('\n')
  }

  #printUnion(type: ts.UnionType, path: string[]): string {
    const members = type.types.map((member) => this.print(member, path))
    const hasBoolean = members.includes('true') && members.includes('false')
    const others = members.filter((text) => !hasBoolean || (text !== 'true' && text !== 'false'))
    const texts = [...new Set(hasBoolean ? [...others, 'boolean'] : others)]
    const union = texts.sort((a, b) => Number(isEmpty(a)) - Number(isEmpty(b))).join(' | ')
    return union.length > INLINE_LENGTH_MAX ? `§${this.#add(union, type, path)}§` : `(${union})`
  }

  #printObject(type: ts.Type, path: string[]): string {
    const name = type.symbol?.name ?? ''
    if (BUILT_IN.has(name)) return name
    const [item] = this.#checker.isArrayType(type) ? this.#typeArguments(type) : []
    if (item) return `Array<${this.print(item, path)}>`
    if (this.#checker.isTupleType(type))
      return `[${this.#typeArguments(type)
        .map((each) => this.print(each, path))
        .join(', ')}]`
    if (name === 'AsyncIterable') {
      const [yielded] = this.#typeArguments(type)
      return `AsyncIterable<${yielded ? this.print(yielded, path) : 'never'}, any, any>`
    }
    if (type.getCallSignatures().length > 0) throw new Error(`${path.join('.')} is a function, which no client can get`)
    return this.#printMembers(type, path)
  }

  #printMembers(type: ts.Type, path: string[]): string {
    const known = this.#numbers.get(type)
    if (known !== undefined) {
      const node = this.#nodes[known]
      if (node && this.#open.has(known)) node.isRecursive = true
      return `§${known}§`
    }
    const number = this.#reserve(type, path)
    this.#open.add(number)
    const indexes = this.#checker
      .getIndexInfosOfType(type)
      .map((info) => `[key: ${this.print(info.keyType, path)}]: ${this.print(info.type, [...path, 'Value'])}`)
    const properties = type.getProperties().map((property) => this.#printProperty(property, path))
    this.#open.delete(number)
    // A property may have a type that the index does not allow.
    const parts = [properties, indexes]
      .filter(({ length }) => length > 0)
      .map((members) => `{\n${members.join(';\n')}\n}`)
    return `§${this.#close(number, type, parts.join(' & ') || '{}')}§`
  }

  #printProperty(property: ts.Symbol, path: string[]): string {
    const type = this.#checker.getTypeOfSymbol(property)
    const mark = property.flags & ts.SymbolFlags.Optional ? '?' : ''
    const name = /^[A-Za-z_$][\w$]*$/.test(property.name) ? property.name : quote(property.name)
    const comment = ts.displayPartsToString(property.getDocumentationComment(this.#checker)).replaceAll(/\s+/g, ' ')
    return `${comment && `/** ${comment} */\n`}${name}${mark}: ${this.print(type, [...path, property.name])}`
  }

  #typeArguments(type: ts.Type): readonly ts.Type[] {
    return this.#checker.getTypeArguments(type as ts.TypeReference)
  }

  #add(text: string, type: ts.Type, path: string[]): number {
    const known = this.#numbersByText.get(text)
    return known ?? this.#close(this.#reserve(type, path), type, text)
  }

  #reserve(type: ts.Type, path: string[]): number {
    const number = this.#nodes.length
    this.#nodes.push({ text: '', path, alias: toAlias(type), uses: 0, isRecursive: false })
    this.#numbers.set(type, number)
    return number
  }

  /** Gives a node its text; returns the number of an earlier one with the same text. */
  #close(number: number, type: ts.Type, text: string): number {
    const node = this.#nodes[number]
    if (!node) throw new Error(`There is no node ${number}`)
    const same = node.isRecursive ? undefined : this.#numbersByText.get(text)
    if (same !== undefined) {
      this.#numbers.set(type, same)
      return same
    }
    node.text = text
    this.#numbersByText.set(text, number)
    return number
  }

  /** Chooses the nodes that get a name: those with several users, and those that contain themselves. */
  #nameNodes(): Map<number, string> {
    for (const { text } of this.#nodes)
      for (const [, number] of text.matchAll(REFERENCE)) {
        const used = this.#nodes[Number(number)]
        if (used) used.uses += 1
      }
    const names = new Map(this.#exported)
    const taken = new Set(names.values())
    for (const [number, { text, uses, path, alias, isRecursive }] of this.#nodes.entries()) {
      const isLong = text.length > INLINE_LENGTH_MAX
      if (names.has(number) || text === '' || (!isRecursive && (!isLong || uses < 2))) continue
      const stem = alias ?? path.map(capitalize).join('')
      let name = stem
      for (let count = 2; taken.has(name); count += 1) name = `${stem}${count}`
      taken.add(name)
      names.set(number, name)
    }
    return names
  }
}

/** The name that the server gives a type, unless it is a generic one. */
function toAlias({ aliasSymbol, aliasTypeArguments }: ts.Type): string | undefined {
  return aliasSymbol && !aliasTypeArguments?.length ? aliasSymbol.name : undefined
}

function isEmpty(text: string): boolean {
  return text === 'null' || text === 'undefined'
}

function capitalize(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`
}
