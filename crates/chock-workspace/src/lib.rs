//! Makes the throwaway copy, says what changed, carries approved work back and undoes it.
