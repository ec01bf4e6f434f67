/** A change of one place in the source that breaks one rule of the product, so at least one test must fail with it. */
export type Mutant = {
  /** Name within its area. */
  name: string
  file: string
  /** Text that occurs exactly once in the file, and its replacement. */
  original: string
  mutated: string
  /** Test files to run, relative to `test/`; by default those of the area. */
  tests?: string[]
  /** Reason why no test can tell the mutant from the original. It is listed and not run. */
  equivalent?: string
}

export type Area = {
  name: string
  /** Test files that protect the area, relative to `test/`, the most likely to fail first. */
  tests: string[]
  mutants: Mutant[]
}
