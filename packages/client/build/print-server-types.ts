import ts from 'typescript'
import { TypePrinter } from './type-printer.ts'

const KINDS: Record<string, string> = {
  query: 'TRPCQueryProcedure',
  mutation: 'TRPCMutationProcedure',
  subscription: 'TRPCSubscriptionProcedure',
}

/**
 * Prints the exported types of a file without the modules that it imports. A router is printed as its procedures, with their
 * inputs and outputs; context and metadata stay on the server.
 */
export function printServerTypes(entry: string, options: ts.CompilerOptions, summaries: Map<string, string>): string {
  const program = ts.createProgram([entry], options)
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(entry)
  const module = file && checker.getSymbolAtLocation(file)
  if (!module) throw new Error(`${entry} exports nothing`)
  const printer = new TypePrinter(checker)
  const texts = checker.getExportsOfModule(module).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const type = checker.getDeclaredTypeOfSymbol(target)
    if (symbol.name === 'AppRouter') return printRouter(checker, printer, type, summaries)
    return printer.printExport(symbol.name, type)
  })
  return `${Object.values(KINDS)
    .map((kind) => `import type { ${kind} } from '@trpc/server'`)
    .join('\n')}\nimport type { TRPCBuiltRouter } from '@trpc/server'\n${printer.declare(texts)}\n`
}

function printRouter(
  checker: ts.TypeChecker,
  printer: TypePrinter,
  router: ts.Type,
  summaries: Map<string, string>,
): string {
  const read = (type: ts.Type, ...path: string[]): ts.Type =>
    path.reduce((parent, name) => {
      const property = parent.getProperty(name)
      if (!property) throw new Error(`The router has no ${path.join('.')}`)
      return checker.getTypeOfSymbol(property)
    }, type)
  let errorShape = ''
  const namespaces = read(router, '_def', 'record')
    .getProperties()
    .map((namespace) => {
      const procedures = checker
        .getTypeOfSymbol(namespace)
        .getProperties()
        .map((procedure) => {
          const definition = read(checker.getTypeOfSymbol(procedure), '_def')
          const path = [namespace.name, procedure.name]
          const kind = read(definition, 'type')
          const types = read(definition, '$types')
          errorShape ||= printer.print(read(types, 'errorShape'), ['ErrorShape'])
          const input = printer.print(read(types, 'input'), [...path, 'Input'])
          const output = printer.print(read(types, 'output'), [...path, 'Output'])
          const summary = summaries.get(path.join('.'))
          return `${summary ? `/** ${summary} */\n` : ''}${quoteName(procedure.name)}: ${KINDS[kind.isStringLiteral() ? kind.value : '']}<{ input: ${input}; output: ${output}; meta: object }>`
        })
      return `${quoteName(namespace.name)}: {\n${procedures.join('\n')}\n}`
    })
  return `type Root = { ctx: object; meta: object; errorShape: ${errorShape}; transformer: true }
export type AppRouter = TRPCBuiltRouter<Root, {\n${namespaces.join('\n')}\n}>`
}

function quoteName(name: string): string {
  return /^\w+$/.test(name) ? name : `'${name}'`
}
