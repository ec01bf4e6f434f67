import { isDeepStrictEqual } from 'node:util'
import { appRouter } from '../../src/router.ts'
import { replaceOutputs } from '../../src/trpc/outputs.ts'
import { createSelect } from '../../src/trpc/select-output.ts'

/**
 * Parses each output of a procedure with its schema, and compares the result with what is selected in production. A
 * difference is an error in the log and a 500.
 */
export function parseOutputs(): void {
  replaceOutputs(appRouter, (schema, times) => {
    const select = createSelect(schema, times)
    return (output) => {
      const parsed = schema.parse(output)
      const selected = select(output)
      const isSame =
        times === 'date' ? isDeepStrictEqual(selected, parsed) : JSON.stringify(selected) === JSON.stringify(parsed)
      if (!isSame) throw new Error('The output differs from what its schema lets through')
      return selected
    }
  })
}
