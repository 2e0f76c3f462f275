//! A line between a program and a server, for tests that cut it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A line to a server on this machine that can be cut.
pub struct Line {
    pub port: u16,
    open: Arc<AtomicBool>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    pub fn to(port: u16) -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Line {
            port: listener.local_addr().unwrap().port(),
            open: Arc::new(AtomicBool::new(true)),
            ends: Arc::default(),
        };
        let (open, ends) = (line.open.clone(), line.ends.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(there) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let mut list = ends.lock().unwrap();
                list.extend([client.try_clone().unwrap(), there.try_clone().unwrap()]);
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), there.try_clone().unwrap()), (there, client)]
                {
                    std::thread::spawn(move || {
                        let mut buffer = [0; 16 << 10];
                        while let Ok(n @ 1..) = from.read(&mut buffer) {
                            if to.write_all(&buffer[..n]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        line
    }

    pub fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for end in self.ends.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}
