// What worker.js uses of onnxruntime-web.
export const env: { wasm: { numThreads: number; wasmBinary: ArrayBuffer; wasmPaths: { mjs: string } } };
export const InferenceSession: any;
export const Tensor: any;
