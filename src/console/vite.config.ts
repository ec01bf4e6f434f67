import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const client = (file: string) => fileURLToPath(new URL(`../../packages/client/src/${file}`, import.meta.url))

/** Builds the console as static files below `/console`. The folder of the output is an argument of the command. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  logLevel: 'warn',
  // Also where the environment says something else.
  define: { 'process.env.NODE_ENV': '"production"' },
  resolve: {
    alias: [
      { find: '@parley/client/react', replacement: client('react.tsx') },
      { find: '@parley/client', replacement: client('index.ts') },
    ],
  },
  // Nothing is a data URL, so that the policy of the pages allows files of this server only.
  build: {
    manifest: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      // Directives of servers that render React.
      onLog: (level, log, report) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && report(level, log),
    },
  },
})
