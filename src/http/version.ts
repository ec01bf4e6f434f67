/** The version in package.json, which a compiled build does not contain. */
export const VERSION = '0.1.0'
