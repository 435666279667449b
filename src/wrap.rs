//! The decorator: a function that goes through a breaker.

use std::ops::Deref;

use crate::breaker::{CircuitBreaker, path_of};
use crate::clock::Clock;
use crate::error::Error;
use crate::outcome::any_error;

/// A function that [`CircuitBreaker::wrap`] takes: up to six arguments, a `Result` as its answer.
///
/// `Args` are the types of its arguments as a tuple. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be wrapped",
    note = "a function that can be wrapped takes up to six arguments and returns a `Result`"
)]
pub trait Callable<Args>: sealed::Sealed<Args> {
    /// The type as which the wrapped function is called: `dyn Fn` with the same arguments, whose error is an
    /// [`Error`] around the function's own.
    type Wrapped<'a>: ?Sized
    where
        Self: 'a;

    #[doc(hidden)]
    fn wrapped<'a, C: Clock>(
        self,
        breaker: &'a CircuitBreaker<C>,
    ) -> impl Deref<Target = Self::Wrapped<'a>> + use<'a, Self, Args, C>
    where
        Self: 'a;
}

mod sealed {
    pub trait Sealed<Args> {}
}

/// A closure that derefs to the `dyn Fn` that it is. Stable Rust has no other way to give a type of one's own the
/// call syntax, whatever the number of its arguments; the compiler sees through it.
struct Callee<G, D: ?Sized> {
    closure: G,
    as_dyn: fn(&G) -> &D,
}

impl<G, D: ?Sized> Deref for Callee<G, D> {
    type Target = D;

    #[inline]
    fn deref(&self) -> &D {
        (self.as_dyn)(&self.closure)
    }
}

macro_rules! callable {
    ($($arg:ident)*) => {
        impl<F, T, E, $($arg),*> sealed::Sealed<($($arg,)*)> for F where F: Fn($($arg),*) -> Result<T, E> {}

        #[allow(non_snake_case)]
        impl<F, T, E, $($arg),*> Callable<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> Result<T, E>,
        {
            type Wrapped<'a> = dyn Fn($($arg),*) -> Result<T, Error<E>> + 'a where F: 'a;

            #[inline]
            fn wrapped<'a, C: Clock>(
                self,
                breaker: &'a CircuitBreaker<C>,
            ) -> impl Deref<Target = Self::Wrapped<'a>> + use<'a, F, T, E, C, $($arg),*>
            where
                Self: 'a,
            {
                let closure = move |$($arg: $arg),*| {
                    breaker.call_as(Some(path_of::<F>), any_error, || self($($arg),*))
                };
                Callee::<_, Self::Wrapped<'a>> { closure, as_dyn: |closure| closure }
            }
        }
    };
}

callable!();
callable!(A);
callable!(A B);
callable!(A B D);
callable!(A B D G);
callable!(A B D G H);
callable!(A B D G H I);
